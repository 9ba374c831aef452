package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/reprise-run/reprise/core/history"
)

// Fetch implements offload.Places. Several that want the same place wait for one download.
func (p *Payloads) Fetch(ctx context.Context, place string) ([]byte, error) {
	for {
		if data, there := p.cache.get(place); there {
			return data, nil
		}
		d, mine := p.flight.join(place)
		if mine {
			d.data, d.err = p.download(ctx, place)
			d.abandoned = ctx.Err() != nil
			p.flight.leave(place, d)
			return d.data, d.err
		}
		select {
		case <-d.done:
		case <-ctx.Done():
			return nil, p.failed("read", place, ctx.Err())
		}
		if d.err == nil || !d.abandoned { // else it was the other caller who gave up
			return d.data, d.err
		}
	}
}

// download reads a payload, and checks it against the hash in its place.
func (p *Payloads) download(ctx context.Context, place string) ([]byte, error) {
	run, sum, err := parse(place)
	if err != nil {
		return nil, err
	}
	out, err := p.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &p.bucket, Key: &place}, func(o *s3.Options) {
		o.ResponseChecksumValidation = sdk.ResponseChecksumValidationWhenRequired // it is checked here
	})
	if err != nil {
		return nil, p.failed("read", place, err)
	}
	defer out.Body.Close()
	p.meter.Count(run, "GetObject", 0, 0)
	var data bytes.Buffer
	if out.ContentLength != nil {
		data.Grow(int(min(max(*out.ContentLength, 0), history.MaxPayload)) + bytes.MinRead) // room for the read that meets the end
	}
	if _, err := io.Copy(&data, out.Body); err != nil {
		return nil, p.failed("read", place, err)
	}
	if got := sha256.Sum256(data.Bytes()); got != sum {
		return nil, fmt.Errorf("%w: payload %s in bucket %s is damaged: its %d bytes have the hash %x", history.ErrUnreadable, place, p.bucket, data.Len(), got)
	}
	p.known.add(place)
	p.cache.add(place, data.Bytes())
	return data.Bytes(), nil
}

// flight is the downloads under way.
type flight struct {
	mu        sync.Mutex
	downloads map[string]*download
}

// download is one of them. What it gave may be read once done is closed.
type download struct {
	done      chan struct{}
	data      []byte
	err       error
	abandoned bool
}

// join gives the download of a place, and whether it is for the caller to do.
func (f *flight) join(place string) (d *download, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d, there := f.downloads[place]; there {
		return d, false
	}
	if f.downloads == nil {
		f.downloads = map[string]*download{}
	}
	d = &download{done: make(chan struct{})}
	f.downloads[place] = d
	return d, true
}

func (f *flight) leave(place string, d *download) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.downloads, place)
	close(d.done)
}
