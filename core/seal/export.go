package seal

import (
	"context"

	"github.com/reprise-run/reprise/core/history"
)

// ExportKeys are the keys that an export needs beside it which leaves sealed now: see [history.Export]. None, where the codec has no
// wrapped ones.
func ExportKeys(ctx context.Context, codec Codec) (map[string]string, error) {
	c, ok := codec.(*Cipher)
	if !ok {
		return nil, nil
	}
	key, err := c.keys.Current(ctx)
	if err != nil || key.Wrapped == "" {
		return nil, err
	}
	return map[string]string{key.ID: key.Wrapped}, nil
}

// DecodeExport reads an exported history whose values may be sealed. Only if they are, with is asked for what opens them, and told
// the keys that came with the export. Errors are as those of [Codec]'s Open, or those of with.
func DecodeExport(ctx context.Context, data []byte, with func(keys map[string]string) (Codec, error)) (*history.Export, error) {
	sealed := false
	decoder := &history.Decoder{Fetch: func(string) (history.Payload, error) {
		sealed = true
		return nil, nil
	}}
	export, err := decoder.Export(data)
	if err != nil || !sealed {
		return export, err
	}
	codec, err := with(export.Keys)
	if err != nil {
		return nil, err
	}
	opened, err := Decode(ctx, codec, export.Run, decoder, func(d *history.Decoder) (*history.Export, error) { return d.Export(data) })
	if err == nil {
		opened.Keys = nil
	}
	return opened, err
}
