// Package s3 keeps long payloads in a bucket: offload.Places.
//
// An object is written once and never changed: its key is the run's id and the hash of its content. So a repeated write does no
// harm, what was read once need not be read again, and all of a run can be found and deleted.
package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/port"
	"github.com/reprise-run/reprise/infra/aws"
)

// Client is what is called of the service. One for LocalStack is made with UsePathStyle.
type Client interface {
	PutObject(ctx context.Context, in *s3.PutObjectInput, options ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(ctx context.Context, in *s3.GetObjectInput, options ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, options ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput, options ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

// Config of [New].
type Config struct {
	Client Client
	Bucket string
	// CacheBytes is how much of what was fetched stays in memory. Zero: 64 MB. Negative: nothing.
	CacheBytes int
	// Meter may be nil.
	Meter *aws.Meter
}

const defaultCache = 64 << 20

// Payloads implements offload.Places. It is safe for concurrent use.
type Payloads struct {
	client Client
	bucket string
	meter  *aws.Meter
	known  known
	cache  cache
	flight flight
}

// New keeps payloads in a bucket that is there.
func New(config Config) *Payloads {
	p := &Payloads{client: config.Client, bucket: config.Bucket, meter: config.Meter}
	p.cache.most = config.CacheBytes
	if p.cache.most == 0 {
		p.cache.most = defaultCache
	}
	return p
}

// folder is where all of a run lies. A run id has no slash, and none is left by the escape: no folder is within another one.
func folder(run string) string { return url.PathEscape(run) + "/" }

func placeOf(run string, sum [sha256.Size]byte) string {
	return folder(run) + hex.EncodeToString(sum[:])
}

// parse gives the run and the hash that a place names.
func parse(place string) (run string, sum [sha256.Size]byte, err error) {
	escaped, digits, found := strings.Cut(place, "/")
	run, err = url.PathUnescape(escaped)
	if err == nil && found && len(digits) == hex.EncodedLen(len(sum)) {
		if _, err = hex.Decode(sum[:], []byte(digits)); err == nil && placeOf(run, sum) == place {
			return run, sum, nil
		}
	}
	return "", sum, fmt.Errorf("%w: %q names no payload: a run's id and a SHA-256 hash expected", history.ErrUnreadable, place)
}

// Keep implements offload.Places. S3 checks what arrives against its hash.
func (p *Payloads) Keep(ctx context.Context, run string, data []byte) (place string, err error) {
	sum := sha256.Sum256(data)
	place = placeOf(run, sum)
	if p.known.has(place) {
		return place, nil
	}
	return place, p.put(ctx, run, place, sum, data)
}

// Renew implements offload.Places.
func (p *Payloads) Renew(ctx context.Context, run string, data []byte) error {
	sum := sha256.Sum256(data)
	return p.put(ctx, run, placeOf(run, sum), sum, data)
}

func (p *Payloads) put(ctx context.Context, run, place string, sum [sha256.Size]byte, data []byte) error {
	checksum, contentType := base64.StdEncoding.EncodeToString(sum[:]), "application/json"
	_, err := p.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &p.bucket, Key: &place, Body: bytes.NewReader(data),
		ChecksumSHA256: &checksum, ContentType: &contentType})
	if err != nil {
		return p.failed("write", place, err)
	}
	p.meter.Count(run, "PutObject", 0, 0)
	p.known.add(place)
	return nil
}

// Forget implements offload.Places. Stopped half-way, it can be called again.
func (p *Payloads) Forget(ctx context.Context, run string) error {
	prefix := folder(run)
	defer func() {
		p.known.forget(prefix)
		p.cache.forget(prefix)
	}()
	list := &s3.ListObjectsV2Input{Bucket: &p.bucket, Prefix: &prefix}
	for {
		page, err := p.client.ListObjectsV2(ctx, list)
		if err != nil {
			return p.failed("list", prefix, err)
		}
		p.meter.Count(run, "ListObjectsV2", 0, 0)
		if len(page.Contents) > 0 { // a page has as many as one request deletes: 1000
			if err := p.delete(ctx, run, page.Contents); err != nil {
				return err
			}
		}
		if page.NextContinuationToken == nil {
			return nil
		}
		list.ContinuationToken = page.NextContinuationToken
	}
}

func (p *Payloads) delete(ctx context.Context, run string, objects []types.Object) error {
	quiet := true // answer with the failures alone
	request := &types.Delete{Quiet: &quiet}
	for _, object := range objects {
		request.Objects = append(request.Objects, types.ObjectIdentifier{Key: object.Key})
	}
	out, err := p.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &p.bucket, Delete: request})
	if err != nil {
		return p.failed("delete", folder(run), err)
	}
	p.meter.Count(run, "DeleteObjects", 0, 0)
	if len(out.Errors) > 0 {
		first := out.Errors[0]
		return p.failed("delete", text(first.Key), fmt.Errorf("%s (%s), as with %d more", text(first.Message), text(first.Code), len(out.Errors)-1))
	}
	return nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// failed explains an error. Only of an object that is not there it is known that another attempt would find the same: all
// else, a bucket or a permission that is missing too, can be mended, and is no fault of the run's.
func (p *Payloads) failed(verb, place string, err error) error {
	if missing := (*types.NoSuchKey)(nil); errors.As(err, &missing) {
		return fmt.Errorf("%w: payload %s is not in bucket %s: something other than Reprise has deleted it", history.ErrUnreadable, place, p.bucket)
	}
	return fmt.Errorf("%w: S3 did not %s %s in bucket %s: %w", port.ErrUnavailable, verb, place,
		p.bucket, err)
}
