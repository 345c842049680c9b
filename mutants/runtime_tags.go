package mutants

import (
	"context"
	"slices"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeTags tag other entries than section 4.3 says, and send other events than
// section 6 has.
func runtimeTags() []Mutant { return slices.Concat(runtimePushes(), runtimeEvents()) }

// tagging makes a runtime that tags the entries from another place of the log on.
func tagging(id, requirement, sentence string, from func(p past) int) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
		Runtime: func() *stage.Reference {
			return feedingPast(func(_ context.Context, p *past) error {
				begin := from(*p)
				for i, l := range p.log {
					if l.input == nil {
						continue
					}
					l.input.Event = ""
					if i >= begin {
						l.input.Event = protocol.EventPush
					}
				}
				return nil
			})
		},
	}
}

// begin is where the entries begin that section 4.3 tags.
func (p past) begin() int {
	if stop := p.lastStop(false); stop >= 0 {
		return stop + 1
	}
	return p.latest()
}

func runtimePushes() []Mutant {
	isNormal := func(l logged) bool { return l.Type == storage.Normal }
	return []Mutant{
		tagging("tags-the-latest-after-a-stop", "P4.3/push-after-stop",
			"After a stop too, only what the latest snapshot added is tagged.", past.latest),
		tagging("tags-from-the-first-stop", "P4.3/push-after-stop",
			"Of several stops the first is the one behind which entries are tagged.", func(p past) int {
				if p.lastStop(false) < 0 {
					return p.latest()
				}
				return p.first(0, func(l logged) bool { return l.Session == p.session && l.Control != nil }) + 1
			}),
		tagging("leaves-own-entries-untagged", "P4.3/push-after-stop",
			"Once an invocation has committed after a stop, only what the latest snapshot added is tagged.", func(p past) int {
				stop := p.lastStop(false)
				if stop >= 0 && p.first(stop+1, isNormal) == len(p.log) {
					return stop + 1
				}
				return p.latest()
			}),
		tagging("tags-everything-after-a-stop", "P4.3/push-after-stop",
			"After a stop every entry is tagged, those before it too.", func(p past) int {
				if p.lastStop(false) >= 0 {
					return 0
				}
				return p.latest()
			}),
		tagging("tags-nothing-without-a-stop", "P4.3/push-latest",
			"Entries are tagged behind a stop only.", func(p past) int {
				if stop := p.lastStop(false); stop >= 0 {
					return stop + 1
				}
				return len(p.log)
			}),
		tagging("tags-all-that-no-invocation-wrote", "P4.3/push-latest",
			"Everything that came since the last invocation is tagged, over several snapshots.", func(p past) int {
				begin := p.begin()
				if begin == len(p.log) || isNormal(p.log[begin]) {
					return begin
				}
				for p.lastStop(false) < 0 && begin > 0 && p.log[begin-1].Session == p.session && !isNormal(p.log[begin-1]) {
					begin--
				}
				return begin
			}),
		tagging("tags-the-last-entry-alone", "P4.3/push-latest",
			"Without a stop one entry is tagged, the last.", func(p past) int {
				if p.lastStop(false) >= 0 {
					return p.begin()
				}
				last := len(p.log) - 1
				for last > 0 && p.log[last].input == nil {
					last--
				}
				return last
			}),
		tagging("counts-stops-of-the-parent", "P4.3/push-latest",
			"A stop in the log that a child inherits counts as its own.", func(p past) int {
				if stop := p.lastStop(true); stop >= 0 {
					return stop + 1
				}
				return p.latest()
			}),
	}
}

func runtimeEvents() []Mutant {
	ending := func(id, requirement, sentence string, change func() func(p past) string) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference {
				event := change()
				return feedingPast(func(_ context.Context, p *past) error {
					p.event = event(*p)
					return nil
				})
			},
		}
	}
	// once sends an event in the first invocation that it is due in, and none after.
	once := func(event string) func() func(p past) string {
		return func() func(past) string {
			var mu sync.Mutex
			seen := map[storage.Version]bool{}
			return func(p past) string {
				mu.Lock()
				defer mu.Unlock()
				due := storage.Version{Session: p.session, Version: int64(p.lastStop(false))}
				defer func() { seen[due] = true }()
				if p.event == event && seen[due] {
					return ""
				}
				return p.event
			}
		}
	}
	instead := func(event, other string) func() func(p past) string {
		return func() func(past) string {
			return func(p past) string {
				if p.event == event {
					return other
				}
				return p.event
			}
		}
	}
	return []Mutant{
		ending("starts-children", "P6/fork",
			"The first invocation of a child ends with start.", instead(protocol.EventFork, protocol.EventStart)),
		ending("uses-fork-up-by-failing", "P6/fork",
			"An invocation that failed was the first one of the child.", once(protocol.EventFork)),
		ending("never-wakes", "P6/wake",
			"The invocation that goes on after a pause ends with no event.", instead(protocol.EventWake, "")),
		ending("starts-again-after-a-pause", "P6/wake",
			"The invocation that goes on after a pause ends with start.", instead(protocol.EventWake, protocol.EventStart)),
		ending("wakes-from-pauses-alone", "P6/wake",
			"The invocation that goes on after a sleep ends with no event.", func() func(past) string {
				return func(p past) string {
					if stop := p.lastStop(false); stop >= 0 && p.event == protocol.EventWake && !p.log[stop].Control.StartAt.IsZero() {
						return ""
					}
					return p.event
				}
			}),
		ending("uses-wake-up-by-failing", "P6/wake",
			"An invocation that failed has woken the session.", once(protocol.EventWake)),
	}
}
