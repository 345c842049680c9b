package s3bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ErrNoConditions says that the server ignores If-None-Match, or does not know
// it, so that two writers could both win.
var ErrNoConditions = errors.New("does not heed If-None-Match")

// verdict is what a probe found: nil in it is a pass.
type verdict struct{ err error }

const (
	// probePrefix begins the names of probe objects; no key has a segment that
	// begins with a dot.
	probePrefix = ".pugmark-probe-"
	// cleanTime is how long clearing up may take, also when the caller has gone.
	cleanTime = 5 * time.Second
)

// probe returns nil if the server is known to heed the condition of a PUT. It
// asks once; only a verdict is kept, so that a server that was out of reach is
// asked again.
func (b *Bucket) probe(ctx context.Context) error {
	return b.once(ctx, &b.single, func() (*verdict, error) {
		key := b.root + probePrefix + strings.ToLower(rand.Text())
		defer b.remove(ctx, key)
		_, err := b.putOnce(ctx, key, strings.NewReader("first"))
		if err == nil {
			var out *s3.PutObjectOutput
			if out, err = b.putOnce(ctx, key, strings.NewReader("second")); err == nil {
				return &verdict{b.refusal(serverOf(out.ResultMetadata))}, nil
			}
		}
		switch {
		case isRefused(err):
			// After a lost answer it may be the first PUT that is refused, by its
			// own object. That shows the same.
			return new(verdict), nil
		case isUnknown(err):
			return &verdict{b.refusal(serverOfError(err))}, nil
		default:
			return nil, b.explain("finding out whether the server heeds conditions", err)
		}
	})
}

// probeParts reports whether the completion of a multipart upload heeds the
// condition.
func (b *Bucket) probeParts(ctx context.Context) (heeds bool, err error) {
	err = b.once(ctx, &b.parts, func() (*verdict, error) {
		key := b.root + probePrefix + strings.ToLower(rand.Text())
		defer b.remove(ctx, key)
		if _, err := b.putOnce(ctx, key, strings.NewReader("first")); err != nil && !isRefused(err) {
			return nil, b.explain("finding out whether the server heeds conditions", err)
		}
		err := b.tryParts(ctx, key, section{body: strings.NewReader("second"), size: int64(len("second"))})
		switch status := statusOf(err); {
		case isRefused(err):
			return new(verdict), nil
		case err == nil, isUnknown(err), status >= 400 && status < 500:
			return &verdict{ErrNoConditions}, nil
		default:
			return nil, b.explain("finding out whether multipart uploads heed conditions", err)
		}
	})
	if errors.Is(err, ErrNoConditions) {
		return false, nil
	}
	return err == nil, err
}

// once returns the verdict that is kept in place, after asking for it if there is none.
func (b *Bucket) once(ctx context.Context, place *atomic.Pointer[verdict], ask func() (*verdict, error)) error {
	if known := place.Load(); known != nil {
		return known.err
	}
	select {
	case b.probing <- struct{}{}:
		defer func() { <-b.probing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if known := place.Load(); known != nil {
		return known.err
	}
	found, err := ask()
	if err != nil {
		return err
	}
	place.Store(found)
	return found.err
}

// remove deletes a probe object. If it can't, the object stays, and no listing
// shows it.
func (b *Bucket) remove(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	_, _ = b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
}

func (b *Bucket) refusal(server string) error {
	return fmt.Errorf("the server of s3://%s%s %w, so writers would overwrite each other; use a server with conditional writes, or a folder as the store",
		b.name, b.server(server), ErrNoConditions)
}

// server describes the server: its address, and the name that it gives itself.
func (b *Bucket) server(name string) string {
	var facts []string
	if endpoint := b.client.Options().BaseEndpoint; endpoint != nil {
		facts = append(facts, *endpoint)
	}
	if name != "" {
		facts = append(facts, "which calls itself "+name)
	}
	if len(facts) == 0 {
		return ""
	}
	return " (" + strings.Join(facts, ", ") + ")"
}
