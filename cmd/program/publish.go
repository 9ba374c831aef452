package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/flow"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/api/client"
	"github.com/reprise-run/reprise/infra/api/wire"
	"github.com/reprise-run/reprise/infra/frontend"
)

func (p *program) publish() *cobra.Command {
	given := wire.PublishBody{}
	command := &cobra.Command{
		Use:   "publish FILE",
		Short: "Publish a definition: runs of it begin at once, without a build or a deployment",
		Long: "Publish a version of a definition. Runs that begin from now on have it, and runs that wait for a workflow of this name resume. " +
			"Runs that have begun stay on their versions. " + kindsHelp + "\n\n" +
			"It is safe to repeat: a source that the highest version has is published once. A source with mistakes is refused, and all of them are listed.",
		Example: "  " + p.name + " publish order.json && " + p.name + " start order --wait",
		Args:    cobra.ExactArgs(1),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			source, err := p.readSource(args[0], given.Name)
			if err != nil {
				return err
			}
			given.Name, given.Kind, given.Source = source.name, source.kind, source.text
			published, err := server.Publish(command.Context(), given)
			if err != nil {
				return source.refused(err)
			}
			p.announcePublished(published)
			p.hintServices(command.Context(), server, source)
			return nil
		}),
	}
	command.Flags().StringVar(&given.Name, "name", "", "the workflow that it makes (default: the file's name without extension)")
	command.Flags().IntVar(&given.Version, "version", 0, "the number of the version (default: the one after the highest)")
	command.Flags().BoolVar(&given.Draft, "draft", false, "only starts that name the version run it; publish it again without this flag to have all starts run it")
	return command
}

const kindsHelp = "The file's extension says what it is: .json is a flow, .js is a script."

func (p *program) announcePublished(published *client.Published) {
	started := published.Name
	if published.Status != string(port.DefinitionPublished) {
		started += fmt.Sprintf(" --definition %d", published.Version)
	}
	p.print(published, func(w io.Writer) {
		already := ""
		if !published.Created {
			already = "; it was there already"
		}
		fmt.Fprintf(w, "version %d of %s: %s%s\n", published.Version, published.Name, published.Status, already)
	})
	if published.Status != string(port.DefinitionRetired) {
		p.hint("`%s start %s` starts a run", p.name, started)
	}
}

// hintServices says which services of a flow no worker offers at the moment.
func (p *program) hintServices(ctx context.Context, server *client.Client, of *source) {
	definition, err := flow.Parse([]byte(of.text))
	if of.kind != frontend.Flow || err != nil {
		return
	}
	needed := definition.WorkerServices()
	if len(needed) == 0 {
		return
	}
	workers, err := server.Workers(ctx, "", true)
	if err != nil { // a publication needs no registry
		return
	}
	offered := map[string]bool{}
	for _, worker := range workers {
		for _, service := range worker.Services {
			offered[service] = true
		}
	}
	for _, service := range needed {
		if !offered[service] {
			p.hint("no worker that is online offers service %q: until one does, its calls fail; "+
				"`%s workers list` shows the workers", service, p.name)
		}
	}
}

// source is the file of a definition.
type source struct {
	file, name, kind, text string
}

// readSource reads a file. Its name and extension say what it defines, unless a name is given.
func (p *program) readSource(file, name string) (*source, error) {
	extension := filepath.Ext(file)
	s := &source{file: file, name: name, kind: frontend.KindOf(extension)}
	if file == "-" {
		s.kind = frontend.Flow
	}
	if s.name == "" {
		s.name = strings.TrimSuffix(filepath.Base(file), extension)
	}
	switch {
	case file == "-" && name == "":
		return nil, &exit{code: usage, err: errors.New("the standard input has no name: give one with --name")}
	case s.kind == "":
		return nil, &exit{code: usage, err: fmt.Errorf("%s: no kind of definition has the extension %q. %s", file, extension, kindsHelp)}
	}
	text, err := p.readInput(file)
	if err != nil {
		return nil, &exit{code: usage, err: fmt.Errorf("the definition was not read: %w", err)}
	}
	s.text = string(text)
	return s, nil
}

// mistake is a problem of a source, with its place in the file where that is known.
type mistake struct {
	wire.SourceProblem
	line string // the text of the line, in sources that are read by line
}

func (m mistake) String() string {
	text := strings.TrimPrefix(m.Pointer+": "+m.Message, ": ")
	if m.Line == 0 {
		return text
	}
	text = fmt.Sprintf("%d:%d: %s", m.Line, m.Column, text)
	if m.line == "" {
		return text
	}
	return text + "\n  " + m.line + "\n  " + caret(m.line, m.Column)
}

// caret points at a column of the line above it.
func caret(line string, column int) string {
	var before strings.Builder
	for _, r := range []rune(line)[:min(column-1, utf8.RuneCountInString(line))] {
		if r != '\t' {
			r = ' '
		}
		before.WriteRune(r)
	}
	return before.String() + "^"
}

// locate finds the places of problems in the file.
func (s *source) locate(problems []wire.SourceProblem) []mistake {
	found := make([]mistake, len(problems))
	for i, problem := range problems {
		found[i].SourceProblem = problem
		if problem.Line == 0 {
			found[i].Line, found[i].Column = placeOf(s.text, problem.Pointer)
			continue
		}
		if lines := strings.Split(s.text, "\n"); problem.Line <= len(lines) {
			found[i].line = strings.TrimRight(lines[problem.Line-1], "\r")
		}
	}
	return found
}

// refused is the error of a source that the server did not take.
func (s *source) refused(err error) error {
	problem := (*client.Problem)(nil)
	if !errors.As(err, &problem) || len(problem.Problems) == 0 {
		return err
	}
	found := s.locate(problem.Problems)
	text := fmt.Sprintf("%s has %s, and nothing is published", s.file, count(len(found), "mistake"))
	for _, m := range found {
		text += "\n  " + strings.ReplaceAll(m.String(), "\n", "\n  ")
	}
	return &exit{code: usage, err: errors.New(text), kind: string(problem.Code), problems: found}
}

// validation is the document of validate.
type validation struct {
	Valid bool             `json:"valid"`
	Files []validationFile `json:"files"`
}

type validationFile struct {
	File     string    `json:"file"`
	Name     string    `json:"name,omitempty"`
	Kind     string    `json:"kind,omitempty"`
	Valid    bool      `json:"valid"`
	Problems []mistake `json:"problems,omitempty"`
	// Error says why the file was not checked.
	Error string `json:"error,omitempty"`
}

func (p *program) validate() *cobra.Command {
	name, remote := "", false
	command := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check definitions, and list all their mistakes",
		Long: "Check definitions, and list all their mistakes, as a publication would. No server is needed, and nothing is stored. " + kindsHelp + "\n\n" +
			"--server asks the server instead: its program may be another version, and it knows the workflows that it registers. " +
			"It ends with exit code 1 if a file has a mistake.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if remote {
				return p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
					return p.validateAll(command.Context(), args, name, server.Validate)
				})(command, args)
			}
			return p.validateAll(command.Context(), args, name, p.validateHere)
		},
	}
	command.Flags().StringVar(&name, "name", "", "the workflow that they make (default: the file's name without extension)")
	command.Flags().BoolVar(&remote, "server", false, "ask the server")
	return command
}

// validator checks one source.
type validator func(context.Context, wire.ValidateBody) (*wire.Validation, error)

// validateHere checks a source without a server.
func (p *program) validateHere(_ context.Context, body wire.ValidateBody) (*wire.Validation, error) {
	here, err := engine.New(port.Ports{}, engine.Config{Definitions: p.definitions, Interpreters: frontend.Interpreters()})
	if err != nil {
		return nil, err
	}
	defer here.Close()
	err = here.Validate(engine.PublishRequest{Name: body.Name, Kind: body.Kind, Source: body.Source})
	problems := port.SourceProblems(nil)
	if err != nil && !errors.As(err, &problems) {
		return nil, err
	}
	validation := &wire.Validation{Valid: err == nil}
	for _, problem := range problems {
		validation.Problems = append(validation.Problems, wire.SourceProblem(problem))
	}
	return validation, nil
}

func (p *program) validateAll(ctx context.Context, files []string, name string, check validator) error {
	all := validation{Valid: true}
	for _, file := range files {
		one, err := p.validateFile(ctx, file, name, check)
		if err != nil {
			return err
		}
		all.Valid = all.Valid && one.Valid
		all.Files = append(all.Files, one)
	}
	p.print(all, func(w io.Writer) {
		for _, one := range all.Files {
			one.write(w)
		}
	})
	if !all.Valid {
		return &exit{code: unsuccessful}
	}
	return nil
}

// validateFile checks a file. The error is that of a server that does not answer.
func (p *program) validateFile(ctx context.Context, file, name string, check validator) (validationFile, error) {
	s, err := p.readSource(file, name)
	if err != nil {
		return validationFile{File: file, Error: err.Error()}, nil //nolint:nilerr // the document says it
	}
	done, err := check(ctx, wire.ValidateBody{Name: s.name, Kind: s.kind, Source: s.text})
	one := validationFile{File: file, Name: s.name, Kind: s.kind}
	switch problem := (*client.Problem)(nil); {
	case err == nil:
		one.Valid, one.Problems = done.Valid, s.locate(done.Problems)
	case errors.As(err, &problem) && problem.Code != port.Unavailable, port.CodeOf(err) != port.Internal:
		one.Error = err.Error()
	default:
		return one, err
	}
	return one, nil
}

func (f *validationFile) write(w io.Writer) {
	if f.Valid {
		fmt.Fprintf(w, "ok    %s (%s %s)\n", f.File, f.Kind, f.Name)
		return
	}
	fmt.Fprintf(w, "FAIL  %s\n", f.File)
	if f.Error != "" {
		fmt.Fprintln(w, indent("      ", f.Error))
	}
	for _, m := range f.Problems {
		fmt.Fprintln(w, indent("      ", m.String()))
	}
}
