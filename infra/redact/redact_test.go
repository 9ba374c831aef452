package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/reprise-run/reprise/infra/redact"
)

func TestText(t *testing.T) {
	r := redact.New("iban", "", "Card Number")
	for text, want := range map[string]string{
		`nothing to hide`: `nothing to hide`, "": "",
		`{"user":"ann","password":"a \"b\" c","n":1}`:                        `{"user":"ann","password":"[redacted]","n":1}`,
		`{"apiKey": 17, "X-Api-Key": null, "api_keys": ["a","b"]}`:           `{"apiKey": "[redacted]", "X-Api-Key": "[redacted]", "api_keys": "[redacted]"}`,
		`{"credentials":{"user":"a}","list":[{"x":1}]},"next":2}`:            `{"credentials":"[redacted]","next":2}`,
		"{\n  \"accessToken\":\n    \"abc\"\n}":                              "{\n  \"accessToken\":\n    \"[redacted]\"\n}",
		`"{\"password\":\"abc\",\"n\":1}"`:                                   `"{\"password\":\"[redacted]\",\"n\":1}"`,
		`postgres: password=abc host=db`:                                     `postgres: password=[redacted] host=db`,
		`GET /x?token=abc&n=1`:                                               `GET /x?token=[redacted]&n=1`,
		`Authorization: Bearer abc.def, Accept: */*`:                         `Authorization: [redacted], Accept: */*`,
		`{"tokenCount":3,"secretary":"ann","key":"k"}`:                       `{"tokenCount":3,"secretary":"ann","key":"k"}`,
		`the password is not shown where nothing says which text it is: abc`: `the password is not shown where nothing says which text it is: abc`,
		`{"password":"cut off in the midd… (400 bytes)`:                      `{"password":"[redacted]"`,
		`{"iban":"DE1","cardNumber":"4","card-number":"4"}`:                  `{"iban":"[redacted]","cardNumber":"[redacted]","card-number":"[redacted]"}`,
		`password=`: `password=`,
	} {
		got := r.Text(text)
		require.Equal(t, want, got)
		require.Equal(t, json.Valid([]byte(text)), json.Valid([]byte(got)), "%s", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add(`{"password":"abc","n":[{"token":{"a":1}}]}`)
	f.Add(`"{\"password\":\"abc\"}"`)
	f.Add(`{"secret":"\\","x":1}`)
	r := redact.New()
	f.Fuzz(func(t *testing.T, text string) {
		clean := r.Text(text)
		require.Equal(t, clean, r.Text(clean), "what is hidden stays as it is")
		if json.Valid([]byte(text)) && (text[0] == '{' || text[0] == '[') {
			require.True(t, json.Valid([]byte(clean)), clean)
		}
	})
}

func TestHandler(t *testing.T) {
	type login struct{ User, Password string }
	for name, next := range map[string]func(*bytes.Buffer) slog.Handler{
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(redact.New().Handler(next(&out))).With("token", "the-secret", "seen", "it is").WithGroup("group")
			log.Info("login with password=the-secret", "authorization", 17, "login", login{"ann", "the-secret"}, "at", &login{"bob", "the-secret"},
				"error", errors.New(`{"secret":"the-secret"} is not a number`), "payload", json.RawMessage(`{"apiKey":"the-secret","n":1}`),
				"map", map[string]any{"cookie": "the-secret", "kept": "a value"}, slog.Group("inner", "pwd", "the-secret", "count", 3))
			require.NotContains(t, out.String(), "the-secret")
			for _, kept := range []string{"it is", "login with password=", "ann", "bob", "is not a number", "a value"} {
				require.Contains(t, out.String(), kept)
			}
		})
	}
}
