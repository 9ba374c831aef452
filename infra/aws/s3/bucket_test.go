package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// bucket is S3, as far as it is used here.
type bucket struct {
	mu      sync.Mutex
	objects map[string][]byte
	calls   map[string]int
	fails   func(operation string) error
	stuck   map[string]bool // keys that cannot be deleted
}

func newBucket() *bucket {
	return &bucket{objects: map[string][]byte{}, calls: map[string]int{}, stuck: map[string]bool{}}
}

// call counts, and may fail.
func (b *bucket) call(ctx context.Context, operation string) error {
	b.mu.Lock()
	b.calls[operation]++
	fails := b.fails
	b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if fails != nil {
		return fails(operation)
	}
	return nil
}

func (b *bucket) PutObject(ctx context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	if err := b.call(ctx, "put"); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(in.Body)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); *in.ChecksumSHA256 != base64.StdEncoding.EncodeToString(sum[:]) {
		return nil, errors.New("BadDigest")
	}
	if len(*in.Key) > 1024 {
		return nil, errors.New("KeyTooLongError")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.objects[*in.Key] = data
	return &s3.PutObjectOutput{}, nil
}

func (b *bucket) GetObject(ctx context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	if err := b.call(ctx, "get"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, there := b.objects[*in.Key]
	if !there {
		return nil, fmt.Errorf("operation error S3: GetObject: %w", &types.NoSuchKey{})
	}
	length := int64(len(data))
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(data)), ContentLength: &length}, nil
}

const pageSize = 1000

func (b *bucket) ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	if err := b.call(ctx, "list"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	page := &s3.ListObjectsV2Output{}
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if !strings.HasPrefix(key, *in.Prefix) || in.ContinuationToken != nil && key <= *in.ContinuationToken {
			continue
		}
		if len(page.Contents) == pageSize {
			page.NextContinuationToken = page.Contents[pageSize-1].Key
			break
		}
		page.Contents = append(page.Contents, types.Object{Key: &key})
	}
	return page, nil
}

func (b *bucket) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput, _ ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error) {
	if err := b.call(ctx, "delete"); err != nil {
		return nil, err
	}
	if n := len(in.Delete.Objects); n == 0 || n > 1000 {
		return nil, errors.New("MalformedXML")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out := &s3.DeleteObjectsOutput{}
	for _, object := range in.Delete.Objects {
		if b.stuck[*object.Key] {
			code := "InternalError"
			out.Errors = append(out.Errors, types.Error{Key: object.Key, Code: &code})
			continue
		}
		delete(b.objects, *object.Key)
	}
	return out, nil
}

func (b *bucket) count(operation string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[operation]
}

func (b *bucket) keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.objects))
}
