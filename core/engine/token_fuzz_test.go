package engine_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/core/port/porttest/memory"
)

// FuzzToken: what was not signed here completes nothing, and is said to be no token of ours; nor does it get as far as a store.
func FuzzToken(f *testing.F) {
	for _, signed := range []string{``, `{"run":"r","generation":1,"seq":0,"attempt":1}`, `{"run":"r"}0123456789abcdef0123456789abcdef`, `[[[[0123456789abcdef0123456789abcdef`} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(signed)))
	}
	store := memory.New()
	e, err := engine.New(port.Ports{Runs: store, Directory: store, Due: store, Clock: &clock{},
		NewID: func() string {
			return "0123456789abcdef"
		}},
		// without Tasks: to ask them is a panic
		engine.Config{TokenKey: []byte("0123456789abcdef0123456789abcdef")})
	require.NoError(f, err)
	f.Cleanup(e.Close)
	f.Fuzz(func(t *testing.T, token string) {
		require.Equal(t, port.Invalid,
			port.CodeOf(e.CompleteActivity(t.Context(), token, history.Payload("1"), nil)))
		_, err := e.HeartbeatActivity(t.Context(), token, nil)
		require.Equal(t, port.Invalid, port.CodeOf(err))
	})
}
