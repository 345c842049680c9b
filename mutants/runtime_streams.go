package mutants

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// runtimeStreams feed handlers other Inputs than section 4.2 has, and take their
// invocations' ends for others.
func runtimeStreams() []Mutant {
	return slices.Concat(runtimeAnnouncements(), runtimeReplays(), runtimeEnds())
}

func runtimeAnnouncements() []Mutant {
	return []Mutant{
		{
			ID: "runtime/announces-no-memory", Requirement: "P4.2/memory-first",
			Sentence: "There is no memory announcement.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				return slices.DeleteFunc(all, func(in protocol.Input) bool { return in.Event == protocol.EventMemory })
			}),
		},
		{
			ID: "runtime/announces-memory-last", Requirement: "P4.2/memory-first",
			Sentence: "The memory announcement follows the entries.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				last := len(all) - 1
				return append(append(slices.Clone(all[1:last]), all[0]), all[last])
			}),
		},
		{
			ID: "runtime/announces-memory-twice", Requirement: "P4.2/memory-once",
			Sentence: "The memory announcement comes twice.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				return append([]protocol.Input{all[0]}, all...)
			}),
		},
		{
			ID: "runtime/announces-memory-without-a-slash", Requirement: "P8.1/trailing-slash",
			Sentence: "The memory URL does not end in a slash.",
			Runtime: each(func(in protocol.Input) protocol.Input {
				if in.Event == protocol.EventMemory {
					in.URL = strings.TrimRight(in.URL, "/")
				}
				return in
			}),
		},
		{
			ID: "runtime/sends-no-lifecycle-event", Requirement: "P4.2/lifecycle-last",
			Sentence: "The stream ends with the last entry.",
			Runtime:  gathered(func(all []protocol.Input) []protocol.Input { return all[:len(all)-1] }),
		},
		{
			ID: "runtime/sends-the-lifecycle-event-early", Requirement: "P4.2/lifecycle-last",
			Sentence: "The lifecycle event comes before the entries.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				last := len(all) - 1
				return append([]protocol.Input{all[0], all[last]}, all[1:last]...)
			}),
		},
		{
			ID: "runtime/dates-the-lifecycle-event", Requirement: "P4.2/lifecycle-bare",
			Sentence: "The lifecycle event carries metadata.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				all[len(all)-1].Metadata = map[string]string{"at": "2024-01-01T00:00:00Z"}
				return all
			}),
		},
		{
			ID: "runtime/writes-the-word-empty", Requirement: "P6/none",
			Sentence: "A lifecycle event without a name is written as the word empty.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				if last := &all[len(all)-1]; last.Event == "" {
					last.Event = "empty"
				}
				return all
			}),
		},
		{
			ID: "runtime/always-wakes", Requirement: "P6/start",
			Sentence: "The lifecycle event is wake in every invocation.",
			Runtime: gathered(func(all []protocol.Input) []protocol.Input {
				all[len(all)-1].Event = protocol.EventWake
				return all
			}),
		},
	}
}

// entriesOf changes the entries of a stream, which stand between the announcement
// and the lifecycle event.
func entriesOf(change func([]protocol.Input) []protocol.Input) func([]protocol.Input) []protocol.Input {
	return func(all []protocol.Input) []protocol.Input {
		last := len(all) - 1
		middle := change(slices.Clone(all[1:last]))
		return append(append([]protocol.Input{all[0]}, middle...), all[last])
	}
}

func runtimeReplays() []Mutant {
	return []Mutant{
		{
			ID: "runtime/replays-newest-first", Requirement: "P4.2/log-order",
			Sentence: "Entries are replayed newest first.",
			Runtime: gathered(entriesOf(func(entries []protocol.Input) []protocol.Input {
				slices.Reverse(entries)
				return entries
			})),
		},
		{
			ID: "runtime/sorts-versions-as-text", Requirement: "P4.2/log-order",
			Sentence: "Version 10 is replayed before version 2.",
			Runtime: gathered(entriesOf(func(entries []protocol.Input) []protocol.Input {
				slices.SortStableFunc(entries, func(a, b protocol.Input) int { return cmp.Compare(a.Name, b.Name) })
				return entries
			})),
		},
		{
			ID: "runtime/replays-entries-twice", Requirement: "P4.2/one-per-object",
			Sentence: "Each entry is replayed twice.",
			Runtime: gathered(entriesOf(func(entries []protocol.Input) (twice []protocol.Input) {
				for _, in := range entries {
					twice = append(twice, in, in)
				}
				return twice
			})),
		},
		{
			ID: "runtime/replays-equal-bodies-once", Requirement: "P4.2/one-per-object",
			Sentence: "Of the entries with equal bodies only the first is replayed.",
			Runtime: gathered(entriesOf(func(entries []protocol.Input) []protocol.Input {
				seen := map[string]bool{}
				return slices.DeleteFunc(entries, func(in protocol.Input) bool {
					path := pathOf(in.URL)
					defer func() { seen[path] = true }()
					return seen[path]
				})
			})),
		},
		{
			ID: "runtime/serves-objects-below-a-path", Requirement: "P7/object-url",
			Sentence: "Object URLs have a path before the digest.",
			Runtime:  each(objectURL(func(root, digest string) string { return root + "objects/" + digest })),
		},
		{
			ID: "runtime/writes-digests-in-upper-case", Requirement: "P17/closed-urls",
			Sentence: "The digests of object URLs are in upper case.",
			Runtime: each(objectURL(func(root, digest string) string {
				return root + "sha256:" + strings.ToUpper(strings.TrimPrefix(digest, "sha256:"))
			})),
		},
	}
}

// objectURL rewrites the URLs of entries from their root, with its slash, and their
// digest.
func objectURL(write func(root, digest string) string) func(protocol.Input) protocol.Input {
	return func(in protocol.Input) protocol.Input {
		if root, digest, ok := strings.Cut(in.URL, "/sha256:"); ok && isEntry(in) {
			in.URL = write(root+"/", "sha256:"+digest)
		}
		return in
	}
}

func runtimeEnds() []Mutant {
	return []Mutant{
		{
			ID: "runtime/ignores-the-exit-status", Requirement: "P2.1/nonzero-exit",
			Sentence: "What a handler wrote is committed whatever status it exits with.",
			Runtime:  ended(forgiving(reference.ReasonExit)),
		},
		{
			ID: "runtime/ignores-signals", Requirement: "P2.1/nonzero-exit",
			Sentence: "What a handler wrote is committed when a signal ends it.",
			Runtime:  ended(forgiving(reference.ReasonSignal)),
		},
		{
			ID: "runtime/takes-failures-for-success", Requirement: "P16/failure",
			Sentence: "An invocation that the handler failed counts as one that succeeded.",
			Runtime:  ended(forgiving(reference.ReasonExit, reference.ReasonSignal, reference.ReasonStatus)),
		},
		{
			ID: "runtime/wants-an-output", Requirement: "P16/no-output",
			Sentence: "An invocation without Outputs has failed.",
			Runtime: counting(func(outputs int, _ reference.Invocation) error {
				if outputs > 0 {
					return nil
				}
				return &reference.InvocationError{Reason: reference.ReasonOutput}
			}),
		},
		{
			ID: "runtime/records-that-nothing-came", Requirement: "P16/no-output",
			Sentence: "An invocation without Outputs leaves an entry that says so.",
			Runtime: counting(func(outputs int, invocation reference.Invocation) error {
				if outputs > 0 {
					return nil
				}
				return invocation.Output(protocol.Record[protocol.Output]{Value: protocol.Output{Name: "no-output"}})
			}),
		},
	}
}

// forgiving takes failures with these reasons for success.
func forgiving(reasons ...reference.Reason) func(error) error {
	return func(err error) error {
		if failure, ok := err.(*reference.InvocationError); ok && slices.Contains(reasons, failure.Reason) {
			return nil
		}
		return err
	}
}

// counting looks at how many Outputs an invocation gave that succeeded.
func counting(after func(outputs int, invocation reference.Invocation) error) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			counted, count := invocation, 0
			counted.Output = func(record protocol.Record[protocol.Output]) error {
				count++
				return invocation.Output(record)
			}
			if err := t.Invoke(ctx, counted); err != nil {
				return err
			}
			return after(count, invocation)
		})
	})
}
