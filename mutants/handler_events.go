package mutants

import (
	"slices"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerEvents have typed events that are not those of the stream.
func handlerEvents() []Mutant {
	telling := func(id, sentence string, change func([]fakehandler.Event) []fakehandler.Event) Mutant {
		return offering(id, "K6/events", sentence, sdk{events: func(s fakehandler.Session) []fakehandler.Event {
			return change(slices.Clone(s.Events()))
		}})
	}
	each := func(id, sentence string, change func(fakehandler.Event) fakehandler.Event) Mutant {
		return telling(id, sentence, func(events []fakehandler.Event) []fakehandler.Event {
			for i := range events {
				events[i] = change(events[i])
			}
			return events
		})
	}
	without := func(id, sentence, event string) Mutant {
		return telling(id, sentence, func(events []fakehandler.Event) []fakehandler.Event {
			return slices.DeleteFunc(events, func(e fakehandler.Event) bool { return e.Event == event })
		})
	}
	as := func(id, sentence, is, taken string) Mutant {
		return each(id, sentence, func(e fakehandler.Event) fakehandler.Event {
			if e.Event == is {
				e.Event = taken
			}
			return e
		})
	}
	return []Mutant{
		without("tells-of-no-start", "A start is no event.", protocol.EventStart),
		without("tells-of-no-push", "A push is no event.", protocol.EventPush),
		as("takes-a-fork-for-a-start", "A fork is told as a start.", protocol.EventFork, protocol.EventStart),
		as("takes-a-wake-for-a-start", "A wake is told as a start.", protocol.EventWake, protocol.EventStart),
		telling("tells-the-lifecycle-event-first", "The lifecycle event is told before the pushes.",
			func(events []fakehandler.Event) []fakehandler.Event {
				slices.SortStableFunc(events, func(a, b fakehandler.Event) int { return pushes(a) - pushes(b) })
				return events
			}),
		each("pushes-nothing", "A push is told without the entry that was pushed.",
			func(e fakehandler.Event) fakehandler.Event {
				e.Name = ""
				return e
			}),
		offering("takes-every-entry-for-a-push", "K6/events", "Every entry of the log is told as a push.",
			sdk{events: func(s fakehandler.Session) (events []fakehandler.Event) {
				for _, e := range s.Entries() {
					if e.Name != fakehandler.NameInstructions {
						events = append(events, fakehandler.Event{Event: protocol.EventPush, Name: e.Name})
					}
				}
				return append(events, slices.DeleteFunc(slices.Clone(s.Events()), func(e fakehandler.Event) bool { return pushes(e) == 1 })...)
			}}),
		telling("wakes-on-every-turn", "The empty event is told as a wake.",
			func(events []fakehandler.Event) []fakehandler.Event {
				if len(events) == 0 || pushes(events[len(events)-1]) == 1 {
					return append(events, fakehandler.Event{Event: protocol.EventWake})
				}
				return events
			}),
	}
}

// pushes is 1 for a push, else 0.
func pushes(e fakehandler.Event) int {
	if e.Event == protocol.EventPush {
		return 1
	}
	return 0
}
