package mutants

import (
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// runtimeEntries keep the entries of a snapshot otherwise than the rules S4 and S8
// have.
func runtimeEntries() []Mutant {
	holding := func(id, requirement, sentence string, change func(entries []storage.Entry) []storage.Entry) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: altering(func(_ shelf, s *storage.Snapshot) error {
				s.Entries = change(s.Entries)
				return nil
			}),
		}
	}
	entry := func(change func(*storage.Entry)) func([]storage.Entry) []storage.Entry {
		return func(entries []storage.Entry) []storage.Entry {
			for i := range entries {
				change(&entries[i])
			}
			return entries
		}
	}
	return []Mutant{
		holding("numbers-entries-by-name", "S4/sequence",
			"Sequence numbers are given in the order of the names.", func(entries []storage.Entry) []storage.Entry {
				var numbers []int64
				var named []*storage.Entry
				for i := range entries {
					if !protocol.IsControl(entries[i].ContentType) {
						numbers, named = append(numbers, entries[i].Sequence), append(named, &entries[i])
					}
				}
				slices.SortStableFunc(named, func(a, b *storage.Entry) int { return strings.Compare(a.Name, b.Name) })
				for i, e := range named {
					e.Sequence = numbers[i]
				}
				return entries
			}),
		holding("numbers-forks-apart", "S4/sequence",
			"Forks are numbered by themselves, in each snapshot from 1.", func(entries []storage.Entry) []storage.Entry {
				forks := int64(0)
				for i := range entries {
					if entries[i].Fork {
						forks++
						entries[i].Sequence = forks
					}
				}
				return entries
			}),
		holding("keeps-no-schema-urls", "S4/descriptor",
			"The schema URL of an entry is not kept.", entry(func(e *storage.Entry) { e.SchemaURL = "" })),
		holding("keeps-no-encodings", "S4/descriptor",
			"The content encoding of an entry is not kept.", entry(func(e *storage.Entry) { e.ContentEncoding = "" })),
		holding("keeps-no-entry-metadata", "S4/descriptor",
			"The metadata of an entry is not kept, but for that of a fork.", entry(func(e *storage.Entry) {
				if !e.Fork {
					e.Metadata = nil
				}
			})),
		holding("keeps-types-without-parameters", "S4/descriptor",
			"The parameters of an entry's content type are not kept.", entry(func(e *storage.Entry) {
				e.ContentType, _, _ = strings.Cut(e.ContentType, ";")
			})),
		holding("puts-the-control-message-first", "S8/control-last",
			"The control message stands before what the handler emitted.", func(entries []storage.Entry) []storage.Entry {
				slices.SortStableFunc(entries, func(a, b storage.Entry) int {
					return rank(a) - rank(b)
				})
				return entries
			}),
	}
}

// rank is 0 for a control message and 1 for other entries.
func rank(e storage.Entry) int {
	if protocol.IsControl(e.ContentType) {
		return 0
	}
	return 1
}
