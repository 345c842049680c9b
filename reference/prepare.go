package reference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// view is a session as one invocation sees it: one whole snapshot version
// (P1/whole-snapshot).
type view struct {
	manifest storage.Manifest
	version  int64
	// stop is the session's last control message if it says stopped, else nil. A
	// parent's does not count (reading R44).
	stop *Control
	// stopSequence is the sequence number of stop.
	stopSequence int64
	// last is the sequence number of the session's last entry.
	last int64
	// committed says that an invocation of this session has committed; resumed,
	// that one has since stop.
	committed, resumed bool
}

// paused reports whether the session is stopped with nothing after the stop.
func (v view) paused() bool { return v.stop != nil && v.stopSequence == v.last }

// asleep reports whether a paused session has a time to start again.
func (v view) asleep() bool { return v.paused() && !v.stop.StartAt.IsZero() }

// lifecycle is the event that ends the input stream: P6/wake, P6/none, P6/fork (which
// is P11.2/first-invocation; the later ones are like any session's,
// P11.2/later-invocations) and P6/start, and none but these (P17/closed-events, readings R1,
// R41).
func (v view) lifecycle() string {
	switch {
	case v.stop != nil && !v.resumed:
		return protocol.EventWake
	case v.committed:
		return protocol.EventNone
	case v.manifest.Parent != nil:
		return protocol.EventFork
	default:
		return protocol.EventStart
	}
}

// prepare carries out what earlier invocations of a session left to be done, and
// then looks at its log. The order matters: a run makes pending forks and delivers
// pending writes before it asks whether the session is paused (reading R38), and
// before the handler gets anything (P11.1/before-inputs).
func (r *Runtime) prepare(ctx context.Context, session string) (view, error) {
	manifest, err := r.loadSession(ctx, session)
	if err != nil {
		return view{}, asRequest(err)
	}
	version, err := r.Store.Version(ctx, session)
	if err != nil {
		return view{}, err
	}
	v := view{manifest: manifest, version: version}
	if version == 0 {
		return v, nil
	}
	head, err := r.Store.Head(ctx, session, version)
	if err != nil {
		return view{}, err
	}
	for at := head.Settled + 1; at <= version; at++ {
		left, err := r.leftover(ctx, storage.Version{Session: session, Version: at})
		if err != nil {
			return view{}, err
		}
		if err := r.settle(ctx, manifest, left); err != nil {
			return view{}, err
		}
	}
	v.last = head.Base + head.Count
	v.committed = head.Invoked > 0
	v.resumed = head.Invoked > head.Controlled
	return v, r.findStop(ctx, &v, head.Controlled)
}

// findStop takes the session's last control message, if any, into the view. It
// stands in the given version.
func (r *Runtime) findStop(ctx context.Context, v *view, version int64) error {
	if version == 0 {
		return nil
	}
	for entry, err := range r.Store.Entries(ctx, v.manifest.Session, version) {
		if err != nil {
			return err
		}
		if !protocol.IsControl(entry.ContentType) {
			continue
		}
		control, err := r.readControl(ctx, entry)
		if err != nil {
			return err
		}
		v.stop = nil
		if control.Status == StatusStopped {
			v.stop, v.stopSequence = &control, entry.Sequence
		}
	}
	return nil
}

// waitOut waits until a sleep is over or something new has come (P10/sleep,
// P10/wake).
func (r *Runtime) waitOut(ctx context.Context, v view) error {
	for {
		remaining := v.stop.StartAt.Sub(r.clock().Now())
		if remaining <= 0 {
			return nil
		}
		if err := r.clock().Sleep(ctx, min(remaining, sleepPoll)); err != nil {
			return err
		}
		version, err := r.Store.Version(ctx, v.manifest.Session)
		if err != nil {
			return err
		}
		if version > v.version {
			return nil
		}
	}
}

// over reports whether a sleep is over.
func (v view) over(now time.Time) bool { return !v.stop.StartAt.After(now) }

// leftover are the records of one snapshot that are to be carried out.
type leftover struct {
	at     storage.Version
	forks  []storage.Entry
	writes []storage.Entry
	memory []storage.MemoryWrite
}

// leftover reads the records of a snapshot that must have been carried out before
// the next invocation.
func (r *Runtime) leftover(ctx context.Context, at storage.Version) (leftover, error) {
	left := leftover{at: at}
	reader, err := r.Store.OpenSnapshot(ctx, at.Session, at.Version)
	if err != nil {
		return left, err
	}
	defer reader.Close()
	left.memory = reader.Memory
	for entry, err := range reader.Entries() {
		if err != nil {
			return left, err
		}
		switch {
		case entry.Fork:
			left.forks = append(left.forks, entry)
		case entry.TargetSession != "":
			left.writes = append(left.writes, entry)
		}
	}
	return left, nil
}

// settle makes the children and delivers the writes that a snapshot records. All
// of it may have been done before, in part or whole, by us or by a concurrent
// runtime (P11.1/crash-recovery, S5/crash-points).
func (r *Runtime) settle(ctx context.Context, parent storage.Manifest, left leftover) error {
	made := make(map[string]bool, len(left.forks))
	for _, fork := range left.forks {
		if made[fork.TargetSession] { // P11.1/existing-child, reading R24: the first one made it
			r.logger().Warn("a fork was left out: another one of its snapshot has its ID", "session", left.at.Session,
				"version", left.at.Version, "sequence", fork.Sequence, "name", fork.Name, "child", fork.TargetSession)
			continue
		}
		made[fork.TargetSession] = true
		if err := r.makeChild(ctx, parent, left.at, fork); err != nil {
			return fmt.Errorf("making child %q: %w", fork.TargetSession, err)
		}
	}
	return r.deliver(ctx, left)
}

// deliver delivers the cross-session and memory writes that a snapshot records.
func (r *Runtime) deliver(ctx context.Context, left leftover) error {
	byTarget := make(map[string][]storage.Entry)
	for _, write := range left.writes {
		byTarget[write.TargetSession] = append(byTarget[write.TargetSession], write)
	}
	for _, write := range left.writes {
		entries, pending := byTarget[write.TargetSession]
		if !pending {
			continue
		}
		delete(byTarget, write.TargetSession)
		if err := r.deliverTo(ctx, write.TargetSession, left.at, entries); err != nil {
			return err
		}
	}
	byNamespace := make(map[string][]storage.Entry)
	for _, write := range left.memory {
		byNamespace[write.Namespace] = append(byNamespace[write.Namespace], write.Entry)
	}
	for _, write := range left.memory {
		entries, pending := byNamespace[write.Namespace]
		if !pending {
			continue
		}
		delete(byNamespace, write.Namespace)
		if err := r.Store.WriteMemory(ctx, write.Namespace, &left.at, write.After, entries); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) deliverTo(ctx context.Context, target string, source storage.Version, entries []storage.Entry) error {
	if _, err := r.loadSession(ctx, target); err != nil {
		return fmt.Errorf("delivering to session %q: %w", target, err)
	}
	after := entries[0].TargetVersion
	for _, entry := range entries {
		after = min(after, entry.TargetVersion)
	}
	_, err := r.Store.Deliver(ctx, target, source, after, entries)
	return err
}

// makeChild is the second phase of a fork (section 11.1): its manifest
// (P11.1/child-manifest, S5/fork-metadata), then its first snapshot.
func (r *Runtime) makeChild(ctx context.Context, parent storage.Manifest, at storage.Version, fork storage.Entry) error {
	child, created, err := r.Store.CreateSession(ctx, storage.Manifest{
		Session: fork.TargetSession, Agent: parent.Agent, Handler: parent.Handler, // P15/inherited
		Metadata: fork.Metadata, Parent: &at,
	})
	if err != nil {
		return err
	}
	version, err := r.Store.Version(ctx, child.Session)
	if err != nil {
		return err
	}
	own := child.Parent != nil && *child.Parent == at
	switch {
	case version > 0 && !own: // P11.1/existing-child, reading R24
		r.logger().Warn("a fork was left out: the session exists already", "session", parent.Session, "child", child.Session)
		return nil
	case version > 0:
		return nil
	}
	r.logger().Debug("making a child", "session", parent.Session, "child", child.Session, "created", created)
	return r.commitFirst(ctx, child.Session, fork)
}

// commitFirst commits a child's first snapshot: the fork's body as a normal entry
// (P11/first-object, S5/child-first-entry). Losing the race for it is success
// (P11.1/conflict-is-success).
func (r *Runtime) commitFirst(ctx context.Context, child string, fork storage.Entry) error {
	entry := fork
	entry.Fork, entry.TargetSession, entry.TargetVersion = false, "", 0
	err := r.Store.Commit(ctx, child, storage.Snapshot{
		Head: storage.Head{Version: 1, Type: storage.Normal}, Entries: []storage.Entry{entry},
	})
	if errors.Is(err, storage.ErrConflict) {
		return nil
	}
	return err
}
