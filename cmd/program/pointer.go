package program

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// placeOf gives line and column, from 1, of the value that a JSON pointer leads to. Where the
// pointer leads to nothing, they are of the value around that place. Zero: the text is not JSON, or
// the pointer is the whole text.
func placeOf(text, pointer string) (line, column int) {
	if pointer == "" || !json.Valid([]byte(text)) {
		return 0, 0
	}
	walk := &pointed{text: text, decoder: json.NewDecoder(strings.NewReader(text))}
	at := walk.find(strings.Split(pointer, "/")[1:])
	before := text[:at]
	return 1 + strings.Count(before, "\n"), 1 +
		utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// pointed is a JSON text that is read up to a place.
type pointed struct {
	text    string
	decoder *json.Decoder
}

// here is where the next value begins.
func (p *pointed) here() int {
	at := int(p.decoder.InputOffset())
	for at < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[at]) >= 0 {
		at++
	}
	return at
}

// find goes into the next value as far as the segments lead, and says where it stopped. The text is
// valid.
func (p *pointed) find(segments []string) int {
	begin := p.here()
	if len(segments) == 0 {
		return begin
	}
	opened, err := p.decoder.Token()
	if err != nil {
		return begin
	}
	for i := 0; p.decoder.More(); i++ {
		name := strconv.Itoa(i)
		switch opened {
		case json.Delim('{'):
			key, err := p.decoder.Token()
			if err != nil {
				return begin
			}
			name, _ = key.(string)
		case json.Delim('['):
		default:
			return begin
		}
		if name == unescaper.Replace(segments[0]) {
			return p.find(segments[1:])
		}
		var passed json.RawMessage
		if p.decoder.Decode(&passed) != nil {
			return begin
		}
	}
	return begin
}

// unescaper reads a part of a JSON pointer.
var unescaper = strings.NewReplacer("~1", "/", "~0", "~")
