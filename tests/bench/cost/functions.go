package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/reprise-run/reprise/tests/cloud"
)

var names = []string{"api", "activate", "task", "timer", "deadletter"}

// size of a function's binary, and how long one takes from being started to asking for its first event.
type size struct {
	name        string
	arm64, here int64 // bytes
	init        time.Duration
}

// functions builds all functions as `make deploy` does, and starts them.
func functions(ctx context.Context, database *cloud.Database) (sizes []size, err error) {
	folder, err := os.MkdirTemp("", "functions-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	table, err := database.Table(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s := size{name: name}
		arm, err := buildFunction(ctx, folder, name, "arm64")
		if err != nil {
			return nil, err
		}
		here, err := buildFunction(ctx, folder, name, runtime.GOARCH)
		if err != nil {
			return nil, err
		}
		s.arm64, s.here = bytesOf(arm), bytesOf(here)
		if s.init, err = initTime(ctx, here, database.URL(), table); err != nil {
			return nil, fmt.Errorf("functions/%s: %w", name, err)
		}
		sizes = append(sizes, s)
	}
	return sizes, nil
}

func buildFunction(ctx context.Context, folder, name, architecture string) (binary string, err error) {
	binary = filepath.Join(folder, name+"-"+architecture)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", binary,
		"github.com/reprise-run/reprise/functions/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("functions/%s was not built: %w\n%s", name, err, out)
	}
	return binary, nil
}

func bytesOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// initTime is the median of some starts, with Lambda's Runtime API played by a server that never has an event.
func initTime(ctx context.Context, binary, database, table string) (time.Duration, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	asked := make(chan time.Time, 1)
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- time.Now():
		default:
		}
		<-r.Context().Done()
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	defer serving.Wait()
	defer server.Close() //nolint:errcheck // it has nothing that could be lost
	var times []time.Duration
	const starts = 7
	for range starts {
		function := exec.CommandContext(ctx, binary)
		function.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=local",
			"AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=" + database, "HOME=" + os.TempDir(),
			"REPRISE_TABLE=" + table, "REPRISE_BUCKET=b", "REPRISE_RESUMES=r", "REPRISE_TASKS=t"}
		function.Stdout, function.Stderr = io.Discard, io.Discard
		begun := time.Now()
		if err := function.Start(); err != nil {
			return 0, err
		}
		select {
		case at := <-asked:
			times = append(times, at.Sub(begun))
		case <-time.After(30 * time.Second):
			err = fmt.Errorf("it does not ask for an event")
		}
		_ = function.Process.Kill() // it has nothing to do
		_ = function.Wait()
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

func reportFunctions(out io.Writer, sizes []size) {
	const mb = 1 << 20
	fmt.Fprintf(out, "\n| function | MB, arm64 | MB, %s | ms from start to ready |\n|---|---:|---:|---:|\n", runtime.GOARCH)
	for _, s := range sizes {
		fmt.Fprintf(out, "| %s | %.1f | %.1f | %.0f |\n", s.name, float64(s.arm64)/mb, float64(s.here)/mb, float64(s.init.Microseconds())/1000)
	}
}
