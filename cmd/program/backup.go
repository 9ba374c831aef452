package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/infra/api/client"
)

// backedUp is the document of backup.
type backedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func (p *program) backup() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a server's database while the server runs",
		Long: "Copy a server's database while the server runs. The copy has all runs, as they were when the command began or later. " +
			"The server needs as much free disk space as its database has.\n\n" +
			"To restore: stop the server; in its data folder, delete reprise.db-wal and put the copy in the place of reprise.db; start the server. " +
			"Keep token.key, or a copy of it: without it, completion tokens that activities gave away are no longer valid. " +
			"An encrypted database needs its key file, too. What happened after the backup is gone: activities run again.",
		Args: cobra.ExactArgs(1),
		RunE: p.ask(func(command *cobra.Command, args []string, server *client.Client) error {
			return p.backUp(command.Context(), server, args[0])
		}),
	}
}

// backUp writes a file that is not there before, and that is there only once it is whole.
func (p *program) backUp(ctx context.Context, server *client.Client, file string) error {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return &exit{code: usage, err: fmt.Errorf("%s is there already, and is not overwritten: name another file", file)}
	}
	part, err := os.OpenFile(file+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return &exit{code: broken, err: fmt.Errorf("the backup cannot be written: %w", err)}
	}
	err = server.Backup(ctx, part)
	var size int64
	if err == nil {
		size, err = part.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	p.print(backedUp{file, size}, func(w io.Writer) { fmt.Fprintf(w, "%s: %d bytes\n", file, size) })
	return nil
}
