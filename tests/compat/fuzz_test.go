package compat

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/core/engine"
	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/system"
	v1 "github.com/reprise-run/reprise/tests/compat/v1"
)

// FuzzReplay replays logs that somebody made up: whatever they say, the code agrees, or a reason is given why it does not.
func FuzzReplay(f *testing.F) {
	for _, name := range []string{"activities", "steps", "timers", "signals", "updates", "children", "cancellation", "joins", "phase", "saga", "random", "patch-since"} {
		text, err := os.ReadFile("v1/" + name + ".1.json")
		require.NoError(f, err)
		f.Add(text)
	}
	text, err := os.ReadFile("v1/reset.3.json")
	require.NoError(f, err)
	f.Add(text)
	definitions := v1.Definitions()
	f.Fuzz(func(t *testing.T, text []byte) {
		export, err := history.DecodeExport(text)
		if err != nil {
			require.ErrorIs(t, err, history.ErrUnreadable)
			return
		}
		done, err := engine.Replay(system.Clock{}, definitions, nil, export)
		if refused := (*port.Error)(nil); errors.As(err, &refused) {
			require.Equal(t, port.Invalid, refused.Code)
			return
		}
		require.NoError(t, err)
		if !done.Agrees {
			require.NotEmpty(t, done.Reason)
			require.NotEmpty(t, strings.TrimSpace(done.Message))
			require.NotEqual(t, port.ReasonStuck, done.Reason)
		}
	})
}
