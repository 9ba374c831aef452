package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/infra/frontend"
	"github.com/reprise-run/reprise/infra/system"
)

func (p *program) replay() *cobra.Command {
	keys := ""
	command := &cobra.Command{
		Use:   "replay FILE...",
		Short: "Check that this program's workflows agree with exported histories",
		Long: "Check that this program's workflows decide what exported histories say that they " +
			"decided, the result included. Nothing is executed, " +
			"and no server is needed. Of a folder, every .json file is checked, in its folders " +
			"too; - is the standard input.\n\n" +
			"It is the check that a change of workflow code is safe for the runs that are under " +
			"way: keep histories of real runs beside the code, " +
			"and have every change pass it. The history of a run of a published definition has " +
			"its source with it. It ends with exit code 1 if one does not agree. Sealed " +
			"values are opened as `" + p.name + " decrypt` does it.",
		Example: "  " + p.name + " history order-17 --json > histories/order-17.json\n  " + p.name +
			" replay histories",
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return p.exitFor(command.Context(), p.replayAll(command.Context(), args, keys))
		},
	}
	keyFlag(command, &keys)
	return command
}

// checked is what came of one file.
type checked struct {
	File string `json:"file"`
	*engine.Replayed
	// Error says why the file is no history.
	Error string `json:"error,omitempty"`
}

// replayed is the document of replay.
type replayed struct {
	Agrees bool      `json:"agrees"`
	Files  []checked `json:"files"`
}

func (p *program) replayAll(ctx context.Context, args []string, keys string) error {
	files, err := historiesIn(args)
	if err != nil {
		return err
	}
	all := replayed{Agrees: true}
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		one := p.replayFile(ctx, file, keys)
		all.Agrees = all.Agrees && one.Replayed != nil && one.Agrees
		all.Files = append(all.Files, one)
	}
	p.print(all, func(w io.Writer) {
		for _, one := range all.Files {
			one.write(w)
		}
	})
	if !all.Agrees {
		return &exit{code: unsuccessful}
	}
	return nil
}

// historiesIn lists the files that were named, and those in the folders that were.
func historiesIn(args []string) (files []string, err error) {
	for _, name := range args {
		info, err := os.Stat(name)
		switch {
		case name == "-":
			files = append(files, name)
		case err != nil:
			return nil, &exit{code: usage, err: err}
		case !info.IsDir():
			files = append(files, name)
		default:
			found, err := historiesBelow(name)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func historiesBelow(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 { // a check that checks nothing must not pass
		err = errors.New("no .json file in " + folder)
	}
	if err != nil {
		return nil, &exit{code: usage, err: err}
	}
	return files, nil
}

func (p *program) replayFile(ctx context.Context, file, keys string) checked {
	text, err := p.readInput(file)
	if err != nil {
		return checked{File: file, Error: err.Error()}
	}
	export, err := p.decodeExport(ctx, text, keys)
	if err != nil {
		return checked{File: file, Error: err.Error()}
	}
	done, err := engine.Replay(system.Clock{}, p.definitions, frontend.Interpreters(), export)
	if err != nil {
		return checked{File: file, Error: err.Error()}
	}
	return checked{File: file, Replayed: done}
}

func (c *checked) write(w io.Writer) {
	if c.Replayed == nil {
		fmt.Fprintf(w, "FAIL  %s\n%s\n", c.File, indent("      ", c.Error))
		return
	}
	standing := "under way"
	if c.Closed != "" {
		standing = string(c.Closed)
	}
	what := fmt.Sprintf("%s (run %s of workflow %s, %d records, %s)", c.File, c.Run, c.Workflow, c.Records, standing)
	if c.Agrees {
		fmt.Fprintf(w, "ok    %s\n", what)
		return
	}
	fmt.Fprintf(w, "FAIL  %s\n%s\n", what, indent("      ", c.Message))
}
