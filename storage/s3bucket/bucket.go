package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"pugmark.dev/conform/storage"
)

// Bucket is a [storage.Bucket] on an S3 server. Get one from [Open]; it needs no
// closing.
type Bucket struct {
	client *s3.Client
	name   string
	root   string
	sizes  sizes

	// probing is held by whoever probes; verdicts are kept for good.
	probing chan struct{}
	single  atomic.Pointer[verdict]
	parts   atomic.Pointer[verdict]
}

var _ storage.Bucket = (*Bucket)(nil)

const (
	// maxKey is the longest key in bytes that S3 takes, prefix included.
	maxKey = 1024
	// anyObject as the value of If-None-Match is met only where there is no object.
	anyObject = "*"
)

// sizes are the limits in bytes by which a body's way is chosen.
type sizes struct {
	// look is from where on a look for the object goes before the body.
	look int64
	// parts is from where on a body goes up in parts, and part is the size of one.
	parts, part int64
	// single is the largest body of one PUT.
	single int64
}

var defaultSizes = sizes{look: 1 << 20, parts: 128 << 20, part: 64 << 20, single: 5 << 30}

// Get implements [storage.Bucket]. The object's body is read from the connection
// as it is asked for, and ends when ctx does.
func (b *Bucket) Get(ctx context.Context, key string) (*storage.Object, error) {
	if err := b.check(ctx, key); err != nil {
		return nil, err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: b.full(key)})
	if err != nil {
		return nil, b.missing(key, err)
	}
	if out.ContentLength == nil || *out.ContentLength < 0 {
		_ = out.Body.Close()
		return nil, fmt.Errorf("object %s: the server did not say its size", key)
	}
	return &storage.Object{ReadCloser: out.Body, Size: *out.ContentLength}, nil
}

// Stat implements [storage.Bucket].
func (b *Bucket) Stat(ctx context.Context, key string) (int64, error) {
	if err := b.check(ctx, key); err != nil {
		return 0, err
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: b.full(key)})
	if err != nil {
		return 0, b.missing(key, err)
	}
	if out.ContentLength == nil || *out.ContentLength < 0 {
		return 0, fmt.Errorf("object %s: the server did not say its size", key)
	}
	return *out.ContentLength, nil
}

// Put implements [storage.Bucket]. [storage.ErrExist] may be the object of this
// very Put, when the answer to a first try was lost; compare the bytes where it
// matters. The body is read twice over http://, for its signature, and again for
// each new try.
func (b *Bucket) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := b.check(ctx, key); err != nil {
		return err
	}
	start, size, err := measure(body)
	if err != nil {
		return fmt.Errorf("storing %s: finding the size of its body: %w", key, err)
	}
	if err := b.probe(ctx); err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	if size >= b.sizes.look {
		// It spares the way of a body that is there already; the condition decides.
		if _, err := b.Stat(ctx, key); err == nil {
			return fmt.Errorf("object %s %w", key, storage.ErrExist)
		}
	}
	if size >= b.sizes.parts {
		fits, err := b.probeParts(ctx)
		if err != nil {
			return fmt.Errorf("storing %s: %w", key, err)
		}
		if fits {
			return b.outcome(key, b.putParts(ctx, key, section{body: body, start: start, size: size}))
		}
	}
	if size > b.sizes.single {
		return fmt.Errorf("storing %s: a body of %d bytes can't be stored at once by a server whose multipart uploads heed no condition; use bodies of at most %d bytes, or another server",
			key, size, b.sizes.single)
	}
	_, err = b.putOnce(ctx, *b.full(key), body)
	return b.outcome(key, err)
}

// putOnce stores body under a whole key with the condition.
func (b *Bucket) putOnce(ctx context.Context, fullKey string, body io.ReadSeeker) (*s3.PutObjectOutput, error) {
	out, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket:      &b.name,
		Key:         &fullKey,
		Body:        body,
		IfNoneMatch: aws.String(anyObject),
	}, retryConflicts)
	if err != nil {
		return nil, err
	}
	// F28: a 200 of something that is no S3 server, a gateway's or a captive
	// portal's, has none.
	if aws.ToString(out.ETag) == "" {
		return nil, errNoETag
	}
	return out, nil
}

// Codes of a 409 that is worth another try.
const (
	codeConflict = "ConditionalRequestConflict"
	codeAborted  = "OperationAborted"
)

// retryConflicts is for a PUT that meets another one under way. The next try
// finds its object, or finds that it came to nothing.
func retryConflicts(o *s3.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, codeConflict, codeAborted)
}

var errNoETag = errors.New("the answer has no ETag, so nobody knows whether the object was stored; check that the endpoint is an S3 server")

// outcome makes what Put returns of what the server said.
func (b *Bucket) outcome(key string, err error) error {
	switch {
	case err == nil:
		return nil
	case isRefused(err):
		return fmt.Errorf("object %s %w", key, storage.ErrExist)
	case codeOf(err) == "KeyTooLongError":
		return fmt.Errorf("%w %q: it is too long for the server", storage.ErrInvalidKey, key)
	default:
		return b.explain("storing "+key, err)
	}
}

// missing makes what reads return of an error.
func (b *Bucket) missing(key string, err error) error {
	// A missing bucket is a 404 as well, and no reason to think that objects
	// are not there. HEAD has no body and so no code.
	if statusOf(err) == 404 && codeOf(err) != "NoSuchBucket" {
		return fmt.Errorf("object %s %w", key, storage.ErrNotExist)
	}
	return b.explain("reading "+key, err)
}

// List implements [storage.Bucket]. What others put below the prefix is not
// listed, if its key can't be one of ours.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := b.checkPrefix(ctx, prefix); err != nil {
			yield("", err)
			return
		}
		pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: b.full(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield("", b.explain(fmt.Sprintf("listing %q", prefix), err))
				return
			}
			for _, object := range page.Contents {
				key, ours := strings.CutPrefix(aws.ToString(object.Key), b.root)
				if !ours || storage.CheckKey(key) != nil {
					continue
				}
				if !yield(key, nil) {
					return
				}
			}
		}
	}
}

func (b *Bucket) full(key string) *string { return aws.String(b.root + key) }

func (b *Bucket) check(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := storage.CheckKey(key); err != nil {
		return err
	}
	if length := len(b.root) + len(key); length > maxKey {
		return fmt.Errorf("%w %q: with the store's prefix it has %d bytes, and S3 takes %d", storage.ErrInvalidKey, key, length, maxKey)
	}
	return nil
}

func (b *Bucket) checkPrefix(ctx context.Context, prefix string) error {
	if slash := strings.LastIndexByte(prefix, '/'); slash >= 0 {
		return b.check(ctx, prefix[:slash])
	}
	return ctx.Err()
}

// measure returns where body stands and how many bytes are left, and leaves it
// where it stood.
func measure(body io.Seeker) (start, size int64, err error) {
	if start, err = body.Seek(0, io.SeekCurrent); err != nil {
		return 0, 0, err
	}
	end, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, 0, err
	}
	_, err = body.Seek(start, io.SeekStart)
	return start, max(end-start, 0), err
}
