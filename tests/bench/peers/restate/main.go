// Command restate puts the workloads of tests/bench on a Restate server that runs on the loopback interface: its SDK's
// service is in this process, and so is the load, which comes over HTTP. It writes its figures in the form of bench -json,
// under the same names.
//
// inline stands for ctx.Run, which journals a side effect in the same handler; queued for a call of another handler.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"

	"github.com/reprise-run/reprise/tests/bench/peers/measure"
)

const (
	ingress = "http://127.0.0.1:18080"
	admin   = "http://127.0.0.1:19070"
	service = "127.0.0.1:19080"
)

func main() {
	pid := flag.Int("server", 0, "process id of the Restate server")
	workflows := flag.Int("workflows", 1000, "workflows of 10 activities in inline and queued")
	inFlight := flag.Int("in-flight", 50, "how many of them at a time")
	file := flag.String("json", "", "file for the figures")
	flag.Parse()
	b := &bench{server: *pid, workflows: *workflows, inFlight: *inFlight}
	err := b.run(context.Background())
	if err == nil {
		err = b.figures.Write(*file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "restate:", err)
		os.Exit(1)
	}
}

type bench struct {
	server              int
	workflows, inFlight int
	figures             measure.Figures
}

func (b *bench) run(ctx context.Context) error {
	quiet := slog.NewTextHandler(io.Discard, nil)
	slog.SetDefault(slog.New(quiet))
	failed := make(chan error, 1)
	services := server.NewRestate().WithLogger(quiet, true).Bind(restate.Reflect(Activities{})).Bind(restate.Reflect(Workflows{}))
	go func() { failed <- services.Start(ctx, service) }()
	if err := register(failed); err != nil {
		return err
	}
	for _, step := range []func() error{b.warmUp, b.sequences, b.fanOut, b.long, b.timer, b.signal} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// register tells the server where the service is, as soon as it is there.
func register(failed <-chan error) (err error) {
	for range 50 {
		if err = post(admin+"/deployments", map[string]any{"uri": "http://" + service, "force": true}); err == nil {
			time.Sleep(time.Second) // until all partitions know it
			return nil
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
	return err
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, MaxConnsPerHost: 256}, Timeout: 8 * time.Minute}

func post(url string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, answer)
	}
	return err
}

func call(handler string, input int) error {
	return post(ingress+"/Workflows/"+handler, input)
}

func (b *bench) warmUp() error {
	for _, handler := range []string{"Inline", "Queued"} {
		if _, err := measure.Closed(100, 25, func(int) error { return call(handler, 4) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) sequences() error {
	const sequence = 10
	for _, kind := range []struct{ name, handler string }{{"inline", "Inline"}, {"queued", "Queued"}} {
		before, own := measure.Process(b.server), measure.Process(os.Getpid())
		took, err := measure.Closed(b.workflows, b.inFlight, func(int) error { return call(kind.handler, sequence) })
		if err != nil {
			return err
		}
		after, ownAfter := measure.Process(b.server), measure.Process(os.Getpid())
		add, calls := b.figures.Adder(kind.name), float64(b.workflows*sequence)
		add("activities/s", calls/took.All.Seconds())
		add("ms per workflow, p50", took.Quantile(0.5))
		add("ms per workflow, p99", took.Quantile(0.99))
		add("CPU ms per activity", (after.CPU-before.CPU)/calls)
		add("CPU ms per activity, with the service and the load", (after.CPU-before.CPU+ownAfter.CPU-own.CPU)/calls)
		add("RSS MB", after.RSS)
	}
	return nil
}

func (b *bench) fanOut() error {
	const width, runs = 100, 20
	for _, kind := range []struct{ name, handler string }{{"fan-out of 100, inline", "FanInline"}, {"fan-out of 100, queued", "FanQueued"}} {
		took, err := measure.Closed(runs, 1, func(int) error { return call(kind.handler, width) })
		if err != nil {
			return err
		}
		b.figures.Adder(kind.name)("activities/s", runs*width/took.All.Seconds())
	}
	return nil
}

func (b *bench) long() error {
	const calls = 1000
	for _, kind := range []struct{ name, handler string }{{"one run of 1000, inline", "Inline"}, {"one run of 1000, queued", "Queued"}} {
		took, err := measure.Closed(1, 1, func(int) error { return call(kind.handler, calls) })
		if err != nil {
			return err
		}
		b.figures.Adder(kind.name)("ms per activity", float64(took.All.Microseconds())/1000/calls)
	}
	return nil
}

func (b *bench) timer() error {
	const runs, pace = 200, 50 * time.Millisecond
	lateness.Take()
	failed := make(chan error, runs)
	for range runs {
		go func() { failed <- call("Sleeper", 1000) }()
		time.Sleep(pace)
	}
	for range runs {
		if err := <-failed; err != nil {
			return err
		}
	}
	late := measure.Took{Each: lateness.Take()}
	add := b.figures.Adder("timer of 1 s")
	add("ms late, p50", late.Quantile(0.5))
	add("ms late, p99", late.Quantile(0.99))
	return nil
}

func (b *bench) signal() error {
	const signals = 500
	ended := make(chan error, 1)
	go func() { ended <- call("Listener", signals) }()
	var seen, accepted measure.Took
	for i := range signals {
		id := <-awakeables
		begun := time.Now()
		if err := post(ingress+"/restate/awakeables/"+id+"/resolve", i); err != nil {
			return err
		}
		accepted.Each = append(accepted.Each, time.Since(begun))
		select {
		case at := <-woken:
			seen.Each = append(seen.Each, at.Sub(begun))
		case <-time.After(30 * time.Second):
			return fmt.Errorf("signal %d was not seen", i)
		}
	}
	add := b.figures.Adder("mail")
	add("signal ms until seen by code, p50", seen.Quantile(0.5))
	add("signal ms until seen by code, p99", seen.Quantile(0.99))
	add("signal ms until accepted, p50", accepted.Quantile(0.5))
	return <-ended
}
