package client

import (
	"context"
	"io"
	"net/http"
)

// Backup writes a copy of the server's database. It returns an error if the copy is not whole. A
// deployment on AWS refuses (code conflict): its table has backups of its own.
func (c *Client) Backup(ctx context.Context, into io.Writer) error {
	_, err := c.do(ctx, request{method: http.MethodGet, path: path("backup"), once: true}, into)
	return err
}
