package main

import (
	"context"
	"fmt"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// measuredAt is how many invocations are measured at each length.
const measuredAt = 9

// growth measures invocations of a handler in process, which costs nothing, after
// more and more others. Each doubles the log, so each may cost twice as much.
func (b *bench) growth(ctx context.Context) error {
	bucket, err := dirbucket.Open(b.sub("growth"))
	if err != nil {
		return err
	}
	defer bucket.Close()
	runtime := &reference.Runtime{Store: &storage.Store{Bucket: bucket}}
	if _, err := runtime.StartSession(ctx, storage.Manifest{Session: benchSession}); err != nil {
		return err
	}
	var before time.Duration
	done := 0
	for at := max(b.earlier/16, 1); at <= b.earlier; at *= 2 {
		var times []time.Duration
		var used time.Duration
		for ; done < at+measuredAt; done++ {
			begun, usedBefore := time.Now(), processorTime()
			_, err := runtime.RunOnce(ctx, benchSession, reference.RunOptions{Handlers: reference.Registry{Default: oneEntry{}}})
			if err != nil {
				return err
			}
			if done >= at {
				times = append(times, time.Since(begun))
				used += processorTime() - usedBefore
			}
		}
		used /= measuredAt
		b.line("after %6d invocations: %7.2f ms, %7.2f ms of a processor", at, milliseconds(median(times)), milliseconds(used))
		if at*2 > b.earlier && before > 0 {
			b.limited("processor time after twice as many invocations", float64(used)/float64(before), 2.5, "x")
		}
		before = used
	}
	return nil
}

// oneEntry is a handler in process that reads its log and writes one entry.
type oneEntry struct{}

func (oneEntry) Invoke(_ context.Context, in reference.Invocation) error {
	count := 0
	for _, err := range in.Inputs {
		if err != nil {
			return err
		}
		count++
	}
	return in.Output(protocol.Record[protocol.Output]{Value: protocol.Output{
		Name: fmt.Sprint("entry-", count), ContentType: "text/plain", Data: fmt.Appendf(nil, "%0100d", count),
	}})
}
