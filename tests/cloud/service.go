package cloud

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS answers with it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// service is the queues behind a port of this machine, in SQS's own protocol: functions reach them with AWS's client, and its
// retries.
type service struct {
	url     string
	server  *http.Server
	serving sync.WaitGroup
}

func serve(ctx context.Context, q *queues) (*service, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{url: "http://" + listener.Addr().String(), server: &http.Server{Handler: q, ReadHeaderTimeout: 10 * time.Second}}
	s.serving.Go(func() { _ = s.server.Serve(listener) })
	return s, nil
}

func (s *service) close() {
	_ = s.server.Close() // nobody calls any more
	s.serving.Wait()
}

// ServeHTTP answers one call.
func (q *queues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "SendMessageBatch":
		call(w, r, q.sendMessageBatch)
	case "ChangeMessageVisibility":
		call(w, r, q.changeMessageVisibility)
	case "GetQueueAttributes":
		call(w, r, q.getQueueAttributes)
	default:
		refuse(w, fmt.Errorf("no such operation: %q", operation))
	}
}

// call reads what is asked and writes the answer. Names of fields are the same in SQS's JSON as in the client's types.
func call[In, Out any](w http.ResponseWriter, r *http.Request, do func(*In) (*Out, error)) {
	in := new(In)
	if err := json.NewDecoder(r.Body).Decode(in); err != nil {
		refuse(w, err)
		return
	}
	out, err := do(in)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(out) // the caller may have gone
}

func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#InvalidParameterValueException", "message": err.Error()})
}

// digest is what SQS answers with for each message that it took, and the client checks.
func digest(body string) *string {
	sum := md5.Sum([]byte(body)) //nolint:gosec // it is SQS's
	text := hex.EncodeToString(sum[:])
	return &text
}
