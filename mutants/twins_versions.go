package mutants

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// versionReadings commit and deliver otherwise than the reference.
func versionReadings() []Twin {
	return []Twin{
		{
			ID: "runtime/commits-behind-what-came-meanwhile", Sentence: "Outputs that meet a conflict are committed as the version after, without another invocation (R11).",
			Runtime: func() *stage.Reference { return committing(rebased) },
		},
		{
			ID: "runtime/pushes-provisionally", Sentence: "A push makes a provisional snapshot (R13).",
			Runtime: func() *stage.Reference {
				return entering(func(_ context.Context, c *commit) error {
					if c.Type == storage.Queueing {
						c.Type = storage.Provisional
					}
					return nil
				})
			},
		},
		{
			ID: "runtime/delivers-each-write-by-itself", Sentence: "Several writes of one invocation to one session are a snapshot each (R14).",
			Runtime: func() *stage.Reference {
				return committing(func(_ context.Context, c commit) ([]storage.Snapshot, error) {
					if c.Source == nil {
						return []storage.Snapshot{c.Snapshot}, nil
					}
					return oneEntryEach(c.Snapshot), nil
				})
			},
		},
		{
			ID: "runtime/keeps-milliseconds", Sentence: "Of a start-at the milliseconds are kept (R34).",
			Runtime: messaging(func(c *reference.Control) { c.StartAt = c.StartAt.Truncate(time.Millisecond) }),
		},
		{
			ID: "runtime/records-that-it-runs", Sentence: "The commit of an invocation that did not pause ends with a control message whose status is running (R57).",
			Runtime: func() *stage.Reference { return entering(recordRunning) },
		},
		{
			ID: "runtime/types-the-first-snapshot-of-a-child", Sentence: "The first snapshot of a child is provisional (R45).",
			Runtime: func() *stage.Reference {
				return entering(func(ctx context.Context, c *commit) error {
					m, err := c.store.Manifest(ctx, c.session)
					if err == nil && m.Parent != nil && c.Version == 1 {
						c.Type = storage.Provisional
					}
					return err
				})
			},
		},
		{
			ID: "runtime/delivers-before-it-commits", Sentence: "Writes to other sessions are delivered first, with the version that was invoked as their source, and are no version of the writer's (R23, R46).",
			Runtime: deliversFirst,
		},
		{
			ID: "runtime/runs-on-after-forks-and-memory", Sentence: "An invocation with forks and memory writes leaves the session running (R47).",
			Runtime: func() *stage.Reference {
				return entering(func(_ context.Context, c *commit) error {
					last := len(c.Entries) - 1
					if !c.isInvocations() || len(c.Memory) == 0 || c.Controlled != c.Version || last == 0 {
						return nil
					}
					message, err := control(c.Entries[last])
					forks := !slices.ContainsFunc(c.Entries[:last], func(e storage.Entry) bool { return !e.Fork })
					if err == nil && forks && message.Reason == "" && message.StartAt.IsZero() {
						c.Entries, c.Controlled = c.Entries[:last], 0
					}
					return nil
				})
			},
		},
	}
}

// rebased moves a commit of an invocation to the version after those that came
// meanwhile. One that others are told the version of stays: forks and writes to other
// sessions name it.
func rebased(ctx context.Context, c commit) ([]storage.Snapshot, error) {
	names := slices.ContainsFunc(c.Entries, func(e storage.Entry) bool { return e.TargetSession != "" })
	if !c.isInvocations() || names || len(c.Memory) > 0 {
		return []storage.Snapshot{c.Snapshot}, nil
	}
	for {
		current, err := c.store.Version(ctx, c.session)
		if err != nil {
			return nil, err
		}
		if current < c.Version {
			return []storage.Snapshot{c.Snapshot}, nil
		}
		head, err := c.store.Head(ctx, c.session, current)
		if err != nil {
			return nil, err
		}
		moved := renumbered(c.Snapshot, current+1, head.Base+head.Count)
		moved.Settled = max(moved.Settled, head.Settled)
		err = put(ctx, c.store.Bucket, c.session, moved)
		if !errors.Is(err, storage.ErrExist) {
			return nil, err
		}
	}
}

// deliversFirst delivers what an invocation wrote to other sessions when it has
// succeeded, in the name of the version that it was made on. What is committed then
// meets no conflict, so that no invocation is made again on another version.
func deliversFirst() *stage.Reference {
	var mu sync.Mutex
	writers := map[string]bool{} // sessions that wrote to others in their last invocation, and did not pause
	r := carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		own := storage.Version{Session: invocation.Identity.Session, Version: invocation.Identity.Snapshot}
		paused := false
		writes := map[string][]storage.Entry{}
		var order []string
		take := invocation.Output
		invocation.Output = func(record protocol.Record[protocol.Output]) error {
			out := record.Value
			route := out.Route(own.Session)
			paused = paused || route.Kind == protocol.RoutePause
			if route.Kind != protocol.RouteSession || out.URI != "" {
				return take(record)
			}
			if _, err := by.engine.Store.Manifest(ctx, route.Session); err != nil {
				return &reference.InvocationError{Reason: reference.ReasonOutput, Err: err}
			}
			body, err := by.engine.Store.PutBody(ctx, strings.NewReader(string(out.Data)))
			if err != nil {
				return err
			}
			if writes[route.Session] == nil {
				order = append(order, route.Session)
			}
			writes[route.Session] = append(writes[route.Session], storage.Entry{
				Digest: body.Digest, Size: body.Size, Data: body.Data, Name: out.Name, Metadata: out.Metadata,
				ContentType: out.ContentType, ContentEncoding: out.ContentEncoding, SchemaURL: out.SchemaURL,
			})
			return nil
		}
		if err := by.Invoke(ctx, invocation); err != nil {
			return err
		}
		for _, target := range order {
			if _, err := by.engine.Store.Deliver(ctx, target, own, 0, writes[target]); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		writers[own.Session] = len(order) > 0 && !paused
		return nil
	})
	r.Bucket = committing(func(ctx context.Context, c commit) ([]storage.Snapshot, error) {
		mu.Lock()
		wrote := writers[c.session]
		mu.Unlock()
		if wrote && c.isInvocations() && c.Controlled == c.Version { // P12/no-implicit-pause
			c.Entries, c.Controlled = c.Entries[:len(c.Entries)-1], 0
		}
		return rebased(ctx, c)
	}).Bucket
	return r
}

// recordRunning adds a control message to what an invocation committed without one.
func recordRunning(ctx context.Context, c *commit) error {
	isStop := func(e storage.Entry) bool { return protocol.IsControl(e.ContentType) }
	if c.Type != storage.Normal || len(c.Entries) == 0 || slices.ContainsFunc(c.Entries, isStop) {
		return nil
	}
	e := storage.Entry{Sequence: c.Entries[len(c.Entries)-1].Sequence + 1}
	if err := c.setControl(ctx, &e, reference.Control{Status: "running"}); err != nil {
		return err
	}
	c.Entries = append(c.Entries, e)
	return nil
}
