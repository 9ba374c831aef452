//go:build localstack

package localstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var (
	root  string      // of the repository
	trial *deployment // that all tests share
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if root, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if _, err := run(ctx, "install", nil); err != nil {
		return 1, err
	}
	answered := answers(ctx)
	if _, err := run(ctx, "up", nil); err != nil {
		return 1, err
	}
	if !answered { // else it is somebody's who goes on using it
		defer func() {
			_, down := run(ctx, "down", nil)
			err = errors.Join(err, down)
		}()
	}
	folder, err := os.MkdirTemp("", "theirs-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if trial, err = newDeployment(ctx, folder); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, trial.close()) }()
	if trial.proxy != nil {
		stop := trial.work(ctx)
		defer func() { err = errors.Join(err, stop()) }()
	}
	return m.Run(), nil
}
