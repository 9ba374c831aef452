package sqs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reprise-run/reprise/core/history"
)

// version of the form of bodies: JSON, with the version in the member "v". A reader reads every version up to its own, and
// refuses members that it does not know: a message that is half understood is better left to a later version.
const version = 1

const (
	longestBody   = 200 << 10 // bytes; SQS takes 256 KB
	longestPacked = 144 << 10 // that become 192 KB in base64, and leave room for what stands around them
)

// object is JSON in the making. Values go in as they are: encoding/json would change the text of payloads.
type object []byte

func begin(run string) object {
	return fmt.Appendf(nil, `{"v":%d,"run":%s`, version, quote(run))
}

func (o *object) member(name string, value []byte) {
	*o = append(*o, `,"`+name+`":`...)
	*o = append(*o, value...)
}

func (o *object) number(name string, value int64) { o.member(name, strconv.AppendInt(nil, value, 10)) }

func (o *object) flag(name string, value bool) {
	if value {
		o.member(name, []byte("true"))
	}
}

func (o *object) time(name string, value time.Time) {
	if !value.IsZero() {
		o.member(name, value.UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`))
	}
}

func (o *object) end() []byte {
	*o = append(*o, '}')
	return *o
}

// quote gives a string in JSON, and in characters that SQS takes.
func quote(value string) []byte {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic("a string always encodes: " + err.Error())
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(quoted, []byte("\uFFFE"), []byte(`\ufffe`)), []byte("\uFFFF"), []byte(`\uffff`))
}

// seal ends an object and makes a body of it. If it is too long, or has characters that SQS does not take, it travels packed, in
// a member of that name.
func (q *Queue) seal(ctx context.Context, run string, o object) (string, error) {
	text := o.end()
	if len(text) <= longestBody && plain(text) {
		return string(text), nil
	}
	packed := text
	if len(text) > longestPacked {
		var err error
		if packed, err = q.codec.Pack(ctx, run, text, longestPacked); err != nil {
			return "", err
		}
	}
	outer := begin(run)
	outer.member("packed", []byte(`"`+base64.StdEncoding.EncodeToString(packed)+`"`))
	return string(outer.end()), nil
}

// plain says whether all characters are such as SQS takes: those of XML 1.0.
func plain(text []byte) bool {
	for len(text) > 0 {
		if c := text[0]; c >= ' ' && c < utf8.RuneSelf || c == '\t' || c == '\n' || c == '\r' {
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		if r < ' ' || r == utf8.RuneError && size == 1 || r == 0xFFFE || r == 0xFFFF {
			return false
		}
		text = text[size:]
	}
	return true
}

// open reads a body into the fields of its sort. An error matches [history.ErrUnreadable], or what [offload.Codec] says.
func (q *Queue) open(ctx context.Context, sort, body string, into any) error {
	text, packed, err := unseal([]byte(body))
	if err == nil && packed != nil {
		if text, err = q.codec.Unpack(ctx, packed); err != nil {
			return fmt.Errorf("a %s message, packed, in %s: %w", sort, excerpt(body), err)
		}
		if _, packed, err = unseal(text); err == nil && packed != nil {
			err = errors.New("it is packed twice")
		}
	}
	if err == nil {
		err = strictly(text, into)
	}
	if err != nil {
		return unreadable(sort, body, err)
	}
	return nil
}

// unseal checks a body's version, and gives what is packed in it, if anything is.
func unseal(body []byte) (text, packed []byte, err error) {
	var head struct {
		Version int    `json:"v"`
		Packed  []byte `json:"packed"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, nil, placed(err)
	}
	switch {
	case head.Version > version:
		return nil, nil, fmt.Errorf("version %d, this program reads versions up to %d: it was sent by a newer one", head.Version, version)
	case head.Version < 1:
		return nil, nil, errors.New(`no version: "v" is missing`)
	}
	return body, head.Packed, nil
}

// strictly reads JSON, all of it, into fields that are all it may have.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return placed(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the end")
	}
	return nil
}

// placed adds where in the text an error of encoding/json is.
func placed(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("at byte %d: %w", wrong.Offset, err)
	}
	if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("at byte %d: %w", wrong.Offset, err)
	}
	return err
}

func unreadable(sort, body string, err error) error {
	return fmt.Errorf("%w: a %s message, %s: %w", history.ErrUnreadable, sort, excerpt(body), err)
}

// excerpt shows the beginning of a body in an error.
func excerpt(body string) string {
	const most = 120
	if len(body) <= most {
		return strconv.Quote(body)
	}
	return strconv.Quote(strings.ToValidUTF8(body[:most], "")) + fmt.Sprintf("… (%d bytes)", len(body))
}
