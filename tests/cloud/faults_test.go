//go:build dynamodb

package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
)

// faults is a way to AWS on which services throttle, fail, do a part of what they are asked, are slow, and lose requests and
// answers: a share of them, drawn anew for each spell of requests.
type faults struct {
	mu       sync.Mutex
	rand     *rand.Rand
	least    float64 // share of requests that meet a fault, in a spell that has any
	most     float64
	share    float64 // in the present spell
	left     int     // requests of the present spell
	closed   bool    // nothing is let through
	over     bool    // no faults from now on
	requests int
	met      map[string]map[string]int // by fault, by operation
	attempts map[string]int            // requests by what the client says of them
}

// newFaults draws shares from least to most; both zero: there are no faults.
func newFaults(seed uint64, least, most float64) *faults {
	return &faults{rand: rand.New(rand.NewPCG(seed, 0)), least: least, most: most, met: map[string]map[string]int{}, attempts: map[string]int{}}
}

// fault is one way to fail.
type fault struct {
	name string
	// of the operations that can fail so; nil: all.
	of []string
	do func(*http.Request, map[string]any) (*http.Response, error)
}

var allFaults = []fault{
	{"ProvisionedThroughputExceededException", dynamoOperations, refusal(http.StatusBadRequest, "ProvisionedThroughputExceededException")},
	throttling,
	{"RequestLimitExceeded", dynamoOperations, refusal(http.StatusBadRequest, "RequestLimitExceeded")},
	{"RequestThrottled", queueOperations, refusal(http.StatusBadRequest, "RequestThrottled")},
	{"InternalServerError", nil, refusal(http.StatusInternalServerError, "InternalServerError")},
	{"ServiceUnavailable", nil, refusal(http.StatusServiceUnavailable, "ServiceUnavailable")},
	{"TransactionConflictException", []string{"PutItem", "UpdateItem", "DeleteItem"}, refusal(http.StatusBadRequest, "TransactionConflictException")},
	{"TransactionCanceledException", []string{"TransactWriteItems"}, cancelled},
	{"a part not done", []string{"BatchWriteItem", "BatchGetItem", "SendMessageBatch"}, partly},
	{"slow", nil, slow},
	{"connection lost before", nil, func(*http.Request, map[string]any) (*http.Response, error) { return nil, errDown }},
	{"connection lost after", nil, answerLost},
}

var throttling = fault{name: "ThrottlingException", do: refusal(http.StatusBadRequest, "ThrottlingException")}

var (
	dynamoOperations = []string{"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "TransactWriteItems", "BatchWriteItem", "BatchGetItem"}
	queueOperations  = []string{"SendMessageBatch", "ChangeMessageVisibility", "GetQueueAttributes"}
)

// RoundTrip hands a request on, or fails it.
func (f *faults) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	fault := f.draw(operation, r.Header.Get("Amz-Sdk-Request"))
	if fault == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return fault.do(r, body)
}

// draw counts a request, and says what it meets.
func (f *faults) draw(operation, attempt string) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	f.attempts[attempt]++
	switch {
	case f.over:
		return nil
	case f.closed:
		return &throttling
	case f.most == 0:
		return nil
	}
	if f.left--; f.left < 0 {
		const shortest, longest = 50, 500
		f.left = shortest + f.rand.IntN(longest-shortest)
		f.share = f.least + f.rand.Float64()*(f.most-f.least)
		if f.rand.IntN(4) == 0 {
			f.share = 0
		}
	}
	if f.rand.Float64() >= f.share {
		return nil
	}
	var possible []*fault
	for i := range allFaults {
		switch fault := &allFaults[i]; {
		case fault.of == nil:
			possible = append(possible, fault)
		case slices.Contains(fault.of, operation): // more often, since few operations can fail so
			possible = append(possible, fault, fault, fault)
		}
	}
	drawn := possible[f.rand.IntN(len(possible))]
	if f.met[drawn.name] == nil {
		f.met[drawn.name] = map[string]int{}
	}
	f.met[drawn.name][operation]++
	return drawn
}

// throttleAll lets no request through, from now on.
func (f *faults) throttleAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// end ends all faults.
func (f *faults) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// report prints which fault met which operation, and how often.
func (f *faults) report(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	operations, all := append(append([]string(nil), dynamoOperations...), queueOperations...), 0
	fmt.Fprintf(table, "fault\t%s\t\n", strings.Join(operations, "\t"))
	for _, fault := range allFaults {
		fmt.Fprint(table, fault.name, "\t")
		for _, operation := range operations {
			fmt.Fprint(table, f.met[fault.name][operation], "\t")
			all += f.met[fault.name][operation]
		}
		fmt.Fprintln(table)
	}
	require.NoError(t, table.Flush())
	t.Logf("%d faults in %d requests\n%s\nrequests by attempt: %v", all, f.requests, out.String(), f.attempts)
}

// refusal answers with an error, and nothing is done.
func refusal(status int, code string) func(*http.Request, map[string]any) (*http.Response, error) {
	return func(r *http.Request, _ map[string]any) (*http.Response, error) {
		return respond(r, status, map[string]any{"__type": "com.amazonaws#" + code, "message": "for the test"})
	}
}

// cancelled has another transaction hold one of the rows.
func cancelled(r *http.Request, body map[string]any) (*http.Response, error) {
	reasons := []map[string]string{{"Code": "TransactionConflict", "Message": "for the test"}}
	for len(reasons) < len(body["TransactItems"].([]any)) {
		reasons = append(reasons, map[string]string{"Code": "None"})
	}
	return respond(r, http.StatusBadRequest, map[string]any{"__type": "com.amazonaws#TransactionCanceledException", "Message": "for the test", "CancellationReasons": reasons})
}

func respond(r *http.Request, status int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Request: r}, nil
}

// slow answers late.
func slow(r *http.Request, _ map[string]any) (*http.Response, error) {
	const longest = 300 * time.Millisecond
	if err := sleep(r.Context(), rand.N(longest)); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

func answerLost(r *http.Request, _ map[string]any) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return nil, errors.Join(errDown, response.Body.Close())
}

// partly does the first half of a batch, and says so.
func partly(r *http.Request, body map[string]any) (*http.Response, error) {
	if entries, ok := body["Entries"].([]any); ok {
		half := len(entries) / 2
		body["Entries"] = entries[:half]
		var failed []any
		for i, entry := range entries[half:] {
			codes := []string{"InternalError", "ThrottlingException"}
			failed = append(failed, map[string]any{"Id": entry.(map[string]any)["Id"], "Code": codes[i%2], "SenderFault": i%2 == 1, "Message": "for the test"})
		}
		return handOn(r, body, half > 0, "Failed", failed)
	}
	items, left, whole := body["RequestItems"].(map[string]any), map[string]any{}, true
	for table, of := range items {
		switch of := of.(type) {
		case []any: // BatchWriteItem
			items[table], left[table], whole = of[:len(of)/2], of[len(of)/2:], len(of) < 2
		case map[string]any: // BatchGetItem
			keys := of["Keys"].([]any)
			some := map[string]any{"Keys": keys[:len(keys)/2], "ConsistentRead": true}
			items[table], left[table], whole = some, map[string]any{"Keys": keys[len(keys)/2:], "ConsistentRead": true}, len(keys) < 2
		}
	}
	if whole { // one that is not done at all is refused, which is another fault
		return http.DefaultTransport.RoundTrip(r)
	}
	member := "UnprocessedItems"
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "BatchGetItem") {
		member = "UnprocessedKeys"
	}
	return handOn(r, body, true, member, left)
}

// handOn sends what is left of a request, if anything is, and adds a member to the answer.
func handOn(r *http.Request, body map[string]any, anything bool, member string, value any) (*http.Response, error) {
	answer := map[string]any{}
	if anything {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		defer response.Body.Close()
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return nil, err
		}
	}
	answer[member] = value
	return respond(r, http.StatusOK, answer)
}
