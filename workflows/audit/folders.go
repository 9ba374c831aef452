package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-run/reprise/core/activity"
)

// Folders is the environment variable with the folders that audits may read, separated as in PATH.
// If it is empty, audits may read the server's working directory. The module cache of the server's
// go command may always be read.
const Folders = "REPRISE_AUDIT_FOLDERS"

// open opens a folder that the operator allows. Through the result no file outside of the allowed
// folder can be reached.
func open(folder string) (*os.Root, error) { return openWithin(folder, allowed()) }

// openCache opens a module cache: the one of the go command, or one in a folder that the operator
// allows.
func openCache(folder string) (*os.Root, error) {
	folders := allowed()
	if own, err := findCache(); err == nil { // a Lambda function has no home folder, and no cache of its own
		folders = append(folders, own)
	}
	return openWithin(folder, folders)
}

func allowed() []string {
	if folders := filepath.SplitList(os.Getenv(Folders)); len(folders) > 0 {
		return folders
	}
	return []string{"."}
}

func openWithin(folder string, allowed []string) (*os.Root, error) {
	path, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	for _, outer := range allowed {
		outer, err := filepath.Abs(outer)
		if err != nil {
			return nil, err
		}
		inner, err := filepath.Rel(outer, path)
		if err != nil || !filepath.IsLocal(inner) {
			continue
		}
		return openIn(outer, inner)
	}
	return nil, activity.NonRetryable(fmt.Errorf("the operator of this server does not allow audits to read the folder %q; the operator can add it to %s",
		folder, Folders))
}

func openIn(outer, inner string) (_ *os.Root, err error) {
	root, err := os.OpenRoot(outer)
	if err == nil && inner != "." {
		whole := root
		root, err = whole.OpenRoot(inner)
		err = errors.Join(err, whole.Close())
	}
	if err != nil {
		return nil, activity.NonRetryable(err)
	}
	return root, nil
}
