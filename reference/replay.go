package reference

import (
	"context"
	"iter"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// inputs yields the input stream of an invocation (section 4.2): the memory
// announcement, the log, which is parts, and the lifecycle event. It holds one entry
// at a time.
func (r *Runtime) inputs(ctx context.Context, v view, parts []storage.Version, s *servers, index *objectIndex) iter.Seq2[protocol.Input, error] {
	return func(yield func(protocol.Input, error) bool) {
		if !yield(protocol.Input{Event: protocol.EventMemory, URL: s.memory}, nil) { // P4.2/memory-first, P4.2/memory-once
			return
		}
		for entry, err := range r.entries(ctx, parts) { // P4.2/log-order, P4.2/one-per-object
			if err != nil {
				yield(protocol.Input{}, err)
				return
			}
			if !entry.replayed() {
				continue
			}
			index.replayed(entry.Entry)
			url, err := s.objectURL(entry.Entry)
			if err != nil {
				yield(protocol.Input{}, err)
				return
			}
			if !yield(v.input(entry, url), nil) {
				return
			}
		}
		// P4.2/lifecycle-last, P4.2/lifecycle-once, P4.2/lifecycle-bare
		yield(protocol.Input{Event: v.lifecycle()}, nil)
	}
}

// input is the record of one entry (section 4.1). The URL is there for inlined and
// for empty bodies too (reading R49).
func (v view) input(entry located, url string) protocol.Input {
	input := protocol.Input{
		URL:             url,
		Size:            entry.Size,
		ContentType:     entry.ContentType,
		ContentEncoding: entry.ContentEncoding,
		SchemaURL:       entry.SchemaURL,
		Name:            entry.Name,
		Metadata:        entry.Metadata,
	}
	if entry.Inline() { // P7.1/inline-limit, held by the store; P7.1/identical, since it stored both
		input.Data = entry.Data
	}
	if v.isNew(entry) {
		input.Event = protocol.EventPush
	}
	return input
}

// isNew is the rule of section 4.3: after a stop, what follows it
// (P4.3/push-after-stop); else what the latest snapshot added (P4.3/push-latest, readings
// R5 and R43).
func (v view) isNew(entry located) bool {
	if entry.In.Session != v.manifest.Session {
		return false
	}
	if v.stop != nil {
		return entry.Sequence > v.stopSequence
	}
	return entry.In.Version == v.version
}
