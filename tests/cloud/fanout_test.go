//go:build dynamodb

package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/activity"
	"github.com/reprise-run/reprise/core/workflow"
)

// partitions is a way to a table whose partitions take so many units in a second, as DynamoDB's do: a
// request to one that has used its second up is throttled. What a partition did not use is not saved up.
type partitions struct {
	writes, reads float64 // units in a second

	mu        sync.Mutex
	left      map[string]*allowance
	throttled map[string]int // by operation
}

// allowance of one partition: what it may yet take.
type allowance struct {
	units float64
	at    time.Time
}

func newPartitions(writes, reads float64) *partitions {
	return &partitions{writes: writes, reads: reads, left: map[string]*allowance{}, throttled: map[string]int{}}
}

// use takes units of a partition; false: it has none.
func (p *partitions) use(partition string, units, rate float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.left[partition]
	if a == nil {
		a = &allowance{units: rate, at: time.Now()}
		p.left[partition] = a
	}
	now := time.Now()
	a.units = min(rate, a.units+now.Sub(a.at).Seconds()*rate)
	a.at = now
	if a.units <= 0 {
		return false
	}
	a.units -= units
	return true
}

var keyCondition = regexp.MustCompile(`pk = (:[a-z]+)`)

// RoundTrip implements http.RoundTripper.
func (p *partitions) RoundTrip(r *http.Request) (*http.Response, error) {
	service, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !strings.HasPrefix(service, "DynamoDB") {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	for partition, units := range written(operation, body) {
		if !p.use("write "+partition, units, p.writes) {
			return p.refuse(r, operation)
		}
	}
	condition, _ := body["KeyConditionExpression"].(string)
	name := keyCondition.FindStringSubmatch(condition)
	if operation != "Query" || name == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	partition := "read " + member(body, "ExpressionAttributeValues", name[1], "S")
	if !p.use(partition, 0, p.reads) {
		return p.refuse(r, operation)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(text))
	var answer struct {
		ConsumedCapacity struct{ CapacityUnits float64 }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	p.use(partition, answer.ConsumedCapacity.CapacityUnits, p.reads)
	return response, nil
}

func (p *partitions) refuse(r *http.Request, operation string) (*http.Response, error) {
	p.mu.Lock()
	p.throttled[operation]++
	p.mu.Unlock()
	return refusal(http.StatusBadRequest, "ProvisionedThroughputExceededException")(r, nil)
}

// written gives the write units of a request, by partition.
func written(operation string, body map[string]any) map[string]float64 {
	units := map[string]float64{}
	add := func(write map[string]any, times float64) {
		const kb = 1024
		if item, is := write["Item"].(map[string]any); is {
			text, _ := json.Marshal(item)
			units[member(item, "pk", "S")] += times * float64(1+len(text)/kb)
			return
		}
		units[member(write, "Key", "pk", "S")] += times
	}
	switch operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		add(body, 1)
	case "TransactWriteItems":
		for _, write := range body["TransactItems"].([]any) {
			for _, of := range write.(map[string]any) {
				add(of.(map[string]any), 2)
			}
		}
	case "BatchWriteItem":
		for _, writes := range body["RequestItems"].(map[string]any) {
			for _, write := range writes.([]any) {
				for _, of := range write.(map[string]any) {
					add(of.(map[string]any), 1)
				}
			}
		}
	}
	return units
}

// member is the text at the end of a path through objects; "" if it is not there.
func member(of map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		of, _ = of[name].(map[string]any)
	}
	text, _ := of[path[len(path)-1]].(string)
	return text
}

// TestFanOut: the activities of one run answer faster than the run's partition takes their results. None
// of them runs again, and the run ends.
//
// FANOUT is how many there are (1,000). FANOUT_UNITS is how many write units a partition takes in a second
// (a tenth of that), beside three times as many read units. DynamoDB's takes 1,000 and 3,000, and an
// account runs more activities at a time than this machine: what counts is how many times too slow it is.
func TestFanOut(t *testing.T) {
	many := int(number(t, "FANOUT", 1000))
	units := float64(number(t, "FANOUT_UNITS", uint64(many/10)))
	limits := newPartitions(units, 3*units)
	ran := make([]atomic.Int32, many)
	var all atomic.Int64
	once := activity.New("once", func(_ context.Context, i int) (int, error) {
		all.Add(1)
		ran[i].Add(1)
		return 1, nil
	})
	fan := workflow.New("fan", func(ctx workflow.Context, n int) (sum int, err error) {
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = i
		}
		results, err := workflow.Map(ctx, numbers, func(ctx workflow.Context, i int) (int, error) {
			return workflow.Execute(ctx, once, i)
		})
		for _, result := range results {
			sum += result
		}
		return sum, err
	})
	c := open(t, limits, fan, once)
	begun := time.Now()
	c.start(t, "fan", "fan", many)
	require.Eventually(t, func() bool { return all.Load() >= int64(many) }, 10*time.Minute, 50*time.Millisecond)
	answered := time.Since(begun)
	c.gives(t, "fan", fmt.Sprint(many))
	ended := time.Since(begun)
	again := 0
	for i := range ran {
		again += int(ran[i].Load()) - 1
	}
	ofResumes, ofTasks := c.Usage()
	t.Logf("%d activities had run after %s, and their run had ended after %s; throttled: %v; %d resumes in %d invocations, %d tasks in %d; used: %+v",
		many, answered.Round(100*time.Millisecond), ended.Round(100*time.Millisecond), limits.throttled,
		ofResumes.Messages, ofResumes.Receives, ofTasks.Messages, ofTasks.Receives, c.Meter.Total("", ""))
	require.Zero(t, again, "activities that ran again")
}
