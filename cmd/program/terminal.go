package program

import (
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// visible is a writer that makes control characters visible: a string of a caller must not drive
// the terminal of the person who reads it. A control character becomes the escape sequence of JSON,
// so that JSON stays the same value. So do the characters that reverse the direction of text. Line
// breaks and tabs pass.
type visible struct {
	to  io.Writer
	cut []byte // the first bytes of a character whose other bytes come with the next Write
}

func (v *visible) Write(text []byte) (int, error) {
	in := slices.Concat(v.cut, text)
	out := make([]byte, 0, len(in))
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
		in = in[size:]
	}
	v.cut = append([]byte(nil), in...)
	if _, err := v.to.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}
