package seed004

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// Worker serves the reference services, and registers as an existing worker does, below a prefix of
// the base. It counts its calls.
func (c *Client) Worker(id, prefix string) (worker string, calls *atomic.Int64) {
	c.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		serve(w, r)
	}))
	c.Cleanup(server.Close)
	status, text := c.Send("POST", prefix+"/register",
		fmt.Sprintf(`{"id":%q,"url":%q,"services":["transform","sum","route"],"load":0,"lastHeartbeat":0}`, id, server.URL))
	require.Equal(c, []any{200, `{"ok":"1"}`}, []any{status, text})
	return server.URL, calls
}

// Beat sends heartbeats of a worker, as an existing one does, until the test ends.
func (c *Client) Beat(id, worker string) {
	const each = 5 * time.Second
	ended, stop := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			case <-time.After(each):
			}
			request, err := http.NewRequestWithContext(c.Context(), http.MethodPost,
				c.base()+"/heartbeat",
				strings.NewReader(fmt.Sprintf(`{"id":%q,"url":%q,"load":0}`, id, worker)))
			if err != nil {
				return
			}
			if response, err := http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
			}
		}
	}()
	c.Cleanup(func() {
		close(stop)
		<-ended
	})
}

func serve(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Input  any            `json:"input"`
		Params map[string]any `json:"params"`
	}
	_ = json.NewDecoder(r.Body).Decode(&call)
	answer := map[string]any{"result": nil}
	switch service := strings.TrimPrefix(r.URL.Path, "/exec/"); service {
	case "sum":
		total := 0.0
		list, _ := call.Input.([]any)
		for _, n := range list {
			f, _ := n.(float64)
			total += f
		}
		answer["result"] = total
	case "transform":
		switch in := call.Input.(type) {
		case float64:
			mul, is := call.Params["mul"].(float64)
			if !is {
				mul = 1
			}
			answer["result"] = in * mul
		case string:
			answer["result"] = strings.ToUpper(in)
		default:
			answer["error"] = "bad input"
		}
	case "route":
		action, _ := call.Params["action"].(string)
		if action == "" {
			action = "goB"
		}
		answer["result"] = map[string]string{"action": action}
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}
