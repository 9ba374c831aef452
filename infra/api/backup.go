package api

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/reprise-run/reprise/core/port"
)

// backupPiece is how much of a backup is written to a caller at a time, and pieceTime how long that
// may take.
const (
	backupPiece = 1 << 20
	pieceTime   = time.Minute
)

func backupEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/v1/backup", id: "get-backup",
			summary: "Back up the database",
			describe: "A copy of the SQLite database, made while the server runs, with all that " +
				"was accepted before the request. To restore it, put it " +
				"into a data folder as reprise.db. On AWS, the table is backed up instead.",
			answers: map[int]reply{http.StatusOK: {"The database.", database{}, ""}},
			fails:   []port.Code{port.Conflict}, serve: getBackup},
	}
}

// database is an answer that is a file.
type database struct{}

func getBackup(c *call) error {
	if c.config.Backup == nil {
		return &port.Error{Code: port.Conflict, Message: "this server keeps its runs in a table " +
			"of DynamoDB, not in a file: " +
			"use point-in-time recovery or backups of that table"}
	}
	file, err := c.config.Backup(c.r.Context())
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return c.write(file, info.Size())
}

// write gives a long answer, for as long as the caller reads on.
func (c *call) write(file *os.File, size int64) error {
	header := c.w.Header()
	header.Set("Content-Type", "application/vnd.sqlite3")
	header.Set("Content-Length", strconv.FormatInt(size, 10))
	header["X-Content-Type-Options"] = noSniff
	header["Cache-Control"] = noStore
	control := http.NewResponseController(c.w)
	for sent := int64(0); sent < size; sent += backupPiece {
		_ = control.SetWriteDeadline(time.Now().Add(pieceTime))
		if _, err := io.CopyN(c.w, file, min(backupPiece, size-sent)); err != nil {
			return nil //nolint:nilerr // the caller has gone, and sees that the answer is too short
		}
	}
	return nil
}
