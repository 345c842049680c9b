package reference

import (
	"context"
	"fmt"

	"pugmark.dev/conform/storage"
)

// commit makes everything an invocation wrote take effect, all or nothing
// (S3/atomic-snapshot), as the version after the one it was invoked on
// (P1/next-version); wrote is false if that version is the same, since there was
// nothing for the session. The error is [storage.ErrConflict] if something else
// became that version meanwhile; then nothing took effect.
func (r *Runtime) commit(ctx context.Context, v view, o *outputs) (wrote bool, err error) {
	at := storage.Version{Session: v.manifest.Session, Version: v.version + 1}
	head := storage.Head{
		Version: at.Version, Type: storage.Normal, Invoked: at.Version,
		Settled: v.version, // prepare saw to all that came before
		Memory:  o.memory,
	}
	entries := o.entries
	stop := o.pause
	// P10/implicit-pause, P12/no-implicit-pause, reading R47.
	if stop == nil && o.forks > 0 && o.locals == 0 && o.writes == 0 {
		stop = &pause{}
	}
	if stop != nil {
		control, err := r.controlEntry(ctx, *stop)
		if err != nil {
			return false, err
		}
		entries = append(entries, control) // S8/control-last
		head.Controlled = at.Version
	}
	if len(entries) == 0 { // P8.4/no-version, P16/no-output, S3/no-output-no-snapshot
		return false, r.deliverMemory(ctx, o.memory)
	}
	if err := r.Store.Commit(ctx, at.Session, storage.Snapshot{Head: head, Entries: entries}); err != nil {
		return false, err
	}
	left := leftover{at: at, memory: o.memory}
	for _, entry := range entries {
		if entry.TargetSession != "" && !entry.Fork {
			left.writes = append(left.writes, entry)
		}
	}
	if err := r.deliver(ctx, left); err != nil {
		return true, fmt.Errorf("version %d of session %s is committed, but a write of it is left to the next invocation: %w",
			at.Version, at.Session, err)
	}
	return true, nil
}

// deliverMemory commits memory writes that no snapshot records, because there was
// nothing else: one namespace after the other, so they are not all or nothing (see
// the limits of the package). The store serialises them (P8.4/serialised), and the last one to a
// name is what readers get (P8.4/replaces).
func (r *Runtime) deliverMemory(ctx context.Context, writes []storage.MemoryWrite) error {
	byNamespace := make(map[string][]storage.Entry)
	var order []string
	for _, write := range writes {
		if _, seen := byNamespace[write.Namespace]; !seen {
			order = append(order, write.Namespace)
		}
		byNamespace[write.Namespace] = append(byNamespace[write.Namespace], write.Entry)
	}
	for _, namespace := range order {
		if err := r.Store.WriteMemory(ctx, namespace, nil, 0, byNamespace[namespace]); err != nil {
			return err
		}
	}
	return nil
}
