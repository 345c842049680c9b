package mutants

import (
	"bytes"
	"context"
	"io"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// commit is a snapshot of a session on its way into the store.
type commit struct {
	store   *storage.Store
	session string
	storage.Snapshot
}

// isInvocations reports whether an invocation made the commit.
func (c commit) isInvocations() bool { return c.Type == storage.Normal && isOfInvocation(c.Snapshot) }

// committing makes a runtime that commits other snapshots than it should: all those
// that change returns, the first as the version that was meant and the others as
// those that follow. They are numbered here.
func committing(change func(ctx context.Context, c commit) ([]storage.Snapshot, error)) *stage.Reference {
	return keeping(func(b storage.Bucket) storage.Bucket { return rewriting{b, change} })()
}

type rewriting struct {
	storage.Bucket
	change func(context.Context, commit) ([]storage.Snapshot, error)
}

func (r rewriting) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	session, ok := snapshotOf(key)
	if !ok {
		return r.Bucket.Put(ctx, key, body)
	}
	s, err := read[storage.Snapshot](body)
	if err != nil {
		return err
	}
	c := commit{store: &storage.Store{Bucket: r.Bucket}, session: session, Snapshot: s}
	version, base := c.Version, c.Base
	snapshots, err := r.change(ctx, c)
	if err != nil {
		return err
	}
	for _, s := range snapshots {
		if err := put(ctx, r.Bucket, session, renumbered(s, version, base)); err != nil {
			return err
		}
		version++
		base += int64(len(s.Entries))
	}
	return nil
}

func renumbered(s storage.Snapshot, version, base int64) storage.Snapshot {
	if s.Invoked == s.Version {
		s.Invoked = version
	}
	if s.Controlled == s.Version {
		s.Controlled = version
	}
	s.Version, s.Base, s.Count = version, base, int64(len(s.Entries))
	numbered := make([]storage.Entry, len(s.Entries))
	for i, entry := range s.Entries {
		entry.Sequence = base + int64(i) + 1
		numbered[i] = entry
	}
	s.Entries = numbered
	return s
}

func put(ctx context.Context, bucket storage.Bucket, session string, s storage.Snapshot) error {
	file, err := written(s)
	if err != nil {
		return err
	}
	return bucket.Put(ctx, snapshotKey(session, s.Version), file)
}

// entering is committing, snapshot by snapshot.
func entering(change func(ctx context.Context, c *commit) error) *stage.Reference {
	return committing(func(ctx context.Context, c commit) ([]storage.Snapshot, error) {
		err := change(ctx, &c)
		return []storage.Snapshot{c.Snapshot}, err
	})
}

// controlling makes a runtime whose control messages are others than they should be.
func controlling(change func(ctx context.Context, c *commit, e *storage.Entry) error) *stage.Reference {
	return entering(func(ctx context.Context, c *commit) error {
		for i := range c.Entries {
			if protocol.IsControl(c.Entries[i].ContentType) && c.Entries[i].Inline() {
				if err := change(ctx, c, &c.Entries[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// control reads a control message.
func control(e storage.Entry) (c reference.Control, err error) {
	return c, json.Unmarshal(e.Data, &c)
}

// setControl makes an entry the control message c, for all who read it.
func (c commit) setControl(ctx context.Context, e *storage.Entry, message reference.Control) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	stored, err := c.store.PutBody(ctx, bytes.NewReader(text))
	if err != nil {
		return err
	}
	e.ContentType, e.Digest, e.Size, e.Data = protocol.TypeControl, stored.Digest, stored.Size, stored.Data
	return nil
}

// show makes text the body of a control message, while the runtime goes by what it
// meant: a runtime understands what it writes itself.
func (c commit) show(ctx context.Context, e *storage.Entry, text []byte) error {
	length := max(len(text), len(e.Data))
	stored, err := c.store.PutBody(ctx, bytes.NewReader(padded(text, length)))
	if err != nil {
		return err
	}
	e.Digest, e.Size, e.Data = stored.Digest, stored.Size, padded(e.Data, length)
	return nil
}

// mean makes the runtime go by another message than the one that stands in the body.
func (c commit) mean(ctx context.Context, e *storage.Entry, message reference.Control) error {
	text := e.Data
	meant, err := json.Marshal(message)
	if err != nil {
		return err
	}
	e.Data = meant
	return c.show(ctx, e, text)
}

// padded is JSON with white space behind it.
func padded(text []byte, length int) []byte {
	return append(bytes.Clone(text), bytes.Repeat([]byte(" "), length-len(text))...)
}

// shown is a control message with other members than it should have.
func shown(change func(o object) object) func() *stage.Reference {
	return func() *stage.Reference {
		return controlling(func(ctx context.Context, c *commit, e *storage.Entry) error {
			o, err := parse(e.Data)
			if err != nil {
				return err
			}
			return c.show(ctx, e, change(o).bytes())
		})
	}
}

// messaging is a control message that says something else than it should.
func messaging(change func(*reference.Control)) func() *stage.Reference {
	return func() *stage.Reference {
		return controlling(func(ctx context.Context, c *commit, e *storage.Entry) error {
			message, err := control(*e)
			if err != nil {
				return err
			}
			change(&message)
			return c.setControl(ctx, e, message)
		})
	}
}
