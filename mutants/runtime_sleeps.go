package mutants

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimeSleeps measure sleeps otherwise than section 10 says, and go on otherwise.
func runtimeSleeps() []Mutant {
	return slices.Concat(runtimeClamps(), runtimeDurations(), runtimeStanding(), runtimeWaking())
}

// timed makes a runtime that takes the durations of pauses for others. An empty
// text is a pause without one; drop leaves the whole pause out.
func timed(id, requirement, sentence string, change func(text string) (changed string, drop bool)) Mutant {
	return hearing(id, requirement, sentence, func() ear {
		return ear{hear: func(out protocol.Output) []protocol.Output {
			text, has := out.Metadata[protocol.MetadataDuration]
			if !protocol.IsPause(out.ContentType) || !has {
				return kept(out)
			}
			changed, drop := change(text)
			if drop {
				return nil
			}
			out.Metadata = maps.Clone(out.Metadata)
			out.Metadata[protocol.MetadataDuration] = changed
			if changed == "" {
				delete(out.Metadata, protocol.MetadataDuration)
			}
			return kept(out)
		}}
	})
}

// starting makes a runtime whose sleeps begin to count where they should, and end
// elsewhere: end is given the duration that the handler asked for.
func starting(id, requirement, sentence string, end func(asked time.Duration) time.Duration) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
		Runtime: func() *stage.Reference {
			var mu sync.Mutex
			asked := map[string]time.Duration{}
			r := controlling(func(ctx context.Context, c *commit, e *storage.Entry) error {
				message, err := control(*e)
				if err != nil || message.StartAt.IsZero() {
					return err
				}
				mu.Lock()
				d := asked[c.session]
				mu.Unlock()
				message.StartAt = message.StartAt.Add(end(d) - protocol.ClampSleep(d))
				return c.setControl(ctx, e, message)
			})
			r.Transport = func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					take := invocation.Output
					invocation.Output = func(record protocol.Record[protocol.Output]) error {
						if text, has := record.Value.Metadata[protocol.MetadataDuration]; has && protocol.IsPause(record.Value.ContentType) {
							if d, err := protocol.ParseDuration(text); err == nil {
								mu.Lock()
								asked[invocation.Identity.Session] = d
								mu.Unlock()
							}
						}
						return take(record)
					}
					return t.Invoke(ctx, invocation)
				})
			}
			return r
		},
	}
}

func runtimeClamps() []Mutant {
	long := func(text string) bool {
		d, err := protocol.ParseDuration(text)
		return err == nil && d > protocol.MaxSleep
	}
	return []Mutant{
		starting("clamps-nothing", "P10/clamp",
			"A sleep lasts as long as was asked for.", func(d time.Duration) time.Duration { return min(d, 24*365*time.Hour) }),
		starting("clamps-to-an-hour", "P10/clamp",
			"A sleep of more than an hour lasts an hour.", func(d time.Duration) time.Duration { return min(d, time.Hour) }),
		starting("clamps-to-nine-minutes", "P10/clamp",
			"A sleep of more than 9 minutes lasts 9 minutes.", func(d time.Duration) time.Duration { return min(d, 9*time.Minute) }),
		timed("pauses-for-long-sleeps", "P10/clamp",
			"A sleep of more than 10 minutes is a pause.", func(text string) (string, bool) {
				if long(text) {
					text = ""
				}
				return text, false
			}),
		timed("overflows-64-bits", "P10/clamp",
			"A sleep of more nanoseconds than 64 bits hold is over at once.", func(text string) (string, bool) {
				if d, err := protocol.ParseDuration(text); err == nil && d == math.MaxInt64 {
					text = "0s"
				}
				return text, false
			}),
		timed("takes-the-largest-part", "P10/clamp",
			"Of a duration in several parts the largest counts.", func(text string) (string, bool) {
				parts := partsOf(text)
				if len(parts) < 2 {
					return text, false
				}
				return slices.MaxFunc(parts, func(a, b string) int {
					x, _ := protocol.ParseDuration(a)
					y, _ := protocol.ParseDuration(b)
					return int(x/time.Millisecond - y/time.Millisecond)
				}), false
			}),
	}
}

// partsOf is the numbers of a duration, each with its unit; nil if it is none.
func partsOf(text string) (parts []string) {
	if _, err := protocol.ParseDuration(text); err != nil {
		return nil
	}
	begin, inUnit := 0, false
	for i, r := range text {
		digit := strings.ContainsRune("0123456789.", r)
		if digit && inUnit {
			parts = append(parts, text[begin:i])
			begin = i
		}
		inUnit = !digit
	}
	return append(parts, text[begin:])
}

func runtimeDurations() []Mutant {
	isDuration := func(text string) bool {
		_, err := protocol.ParseDuration(text)
		return err == nil
	}
	// unit takes the number of a unit for that of another.
	unit := func(name, other string) func(string) (string, bool) {
		return func(text string) (string, bool) {
			parts := partsOf(text)
			for i, part := range parts {
				if number, is := strings.CutSuffix(part, name); is && strings.Trim(number, "0123456789.") == "" {
					parts[i] = number + other
				}
			}
			if parts == nil {
				return text, false
			}
			return strings.Join(parts, ""), false
		}
	}
	const requirement = "P10/control-at-commit"
	return []Mutant{
		starting("sleeps-for-whole-seconds", requirement,
			"The fraction of a second of a sleep is cut off.", func(d time.Duration) time.Duration {
				return protocol.ClampSleep(d).Truncate(time.Second)
			}),
		timed("reads-one-part-of-a-duration", requirement,
			"Of a duration in several parts the first counts.", func(text string) (string, bool) {
				if parts := partsOf(text); len(parts) > 0 {
					text = parts[0]
				}
				return text, false
			}),
		timed("reads-no-fractions", requirement,
			"The fractions of a duration are cut off.", func(text string) (string, bool) {
				parts := partsOf(text)
				for i, part := range parts {
					whole, fraction, has := strings.Cut(part, ".")
					if has {
						parts[i] = whole + strings.TrimLeft(fraction, "0123456789")
					}
				}
				if parts == nil {
					return text, false
				}
				return strings.Join(parts, ""), false
			}),
		timed("takes-milliseconds-for-minutes", requirement,
			"The unit ms is read as m.", unit("ms", "m")),
		timed("takes-minutes-for-milliseconds", requirement,
			"The unit m is read as ms.", unit("m", "ms")),
		timed("takes-microseconds-for-seconds", requirement,
			"The unit us is read as s.", unit("us", "s")),
		timed("takes-nanoseconds-for-seconds", requirement,
			"The unit ns is read as s.", unit("ns", "s")),
		timed("takes-micro-signs-for-milli", requirement,
			"The unit µs is read as ms, a thousand times as long.", func(text string) (string, bool) {
				return strings.NewReplacer("µs", "ms", "μs", "ms").Replace(text), false
			}),
		timed("reads-leading-zeros-as-octal", requirement,
			"A number with a zero in front is read to the base of 8.", func(text string) (string, bool) {
				parts := partsOf(text)
				for i, part := range parts {
					number := strings.TrimRight(part, "nuµμmsh")
					if n, err := strconv.ParseInt(number, 8, 64); err == nil && strings.HasPrefix(number, "0") {
						parts[i] = strconv.FormatInt(n, 10) + part[len(number):]
					}
				}
				if parts == nil {
					return text, false
				}
				return strings.Join(parts, ""), false
			}),
		timed("loses-pauses-that-it-can-not-read", requirement,
			"A pause with a duration outside of the grammar is dropped.", func(text string) (string, bool) {
				return text, !isDuration(text)
			}),
		timed("takes-bad-durations-for-zero", requirement,
			"A duration outside of the grammar is a sleep that is over at once.", func(text string) (string, bool) {
				if !isDuration(text) {
					text = "0s"
				}
				return text, false
			}),
		timed("reads-durations-as-go-does", requirement,
			"A duration may have a sign, and need not have a digit before its point.", func(text string) (string, bool) {
				if d, err := time.ParseDuration(text); err == nil && !isDuration(text) {
					text = protocol.FormatDuration(d)
				}
				return text, false
			}),
		timed("reads-bare-numbers-as-seconds", requirement,
			"A duration without a unit is one in seconds.", func(text string) (string, bool) {
				if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
					text = strconv.FormatFloat(n, 'f', -1, 64) + "s"
				}
				return text, false
			}),
	}
}

// runtimeStanding go on where a session stands, or stand where it goes on.
func runtimeStanding() []Mutant {
	// going makes a runtime that goes by another control message than it shows.
	going := func(id, requirement, sentence string, mean func(shown reference.Control) reference.Control) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference {
				return controlling(func(ctx context.Context, c *commit, e *storage.Entry) error {
					message, err := control(*e)
					if err != nil {
						return err
					}
					return c.mean(ctx, e, mean(message))
				})
			},
		}
	}
	return []Mutant{
		going("invokes-paused-sessions", "P10/pure-pause",
			"A session that is paused is invoked whenever it is run.", func(shown reference.Control) reference.Control {
				if shown.StartAt.IsZero() {
					shown.StartAt = time.Now().Add(-time.Second)
				}
				return shown
			}),
		going("sleeps-a-second-for-a-pause", "P10/pure-pause",
			"A pause is a sleep of a second.", func(shown reference.Control) reference.Control {
				if shown.StartAt.IsZero() {
					shown.StartAt = time.Now().Add(time.Second)
				}
				return shown
			}),
		going("does-not-wait-for-start-at", "P10/sleep",
			"A session that is asleep is invoked at once.", func(shown reference.Control) reference.Control {
				if !shown.StartAt.IsZero() {
					shown.StartAt = time.Now().Add(-time.Second)
				}
				return shown
			}),
		going("never-ends-a-sleep", "P10/sleep",
			"A session that is asleep is never invoked again.", func(shown reference.Control) reference.Control {
				shown.StartAt = time.Time{}
				return shown
			}),
		going("sleeps-half-as-long", "P10/sleep",
			"A session is invoked when half of its sleep is over.", func(shown reference.Control) reference.Control {
				if !shown.StartAt.IsZero() {
					shown.StartAt = time.Now().Add(time.Until(shown.StartAt) / 2)
				}
				return shown
			}),
		timed("takes-zero-for-no-duration", "P10/sleep",
			"A sleep of zero is a pause.", func(text string) (string, bool) {
				if d, err := protocol.ParseDuration(text); err == nil && d == 0 {
					text = ""
				}
				return text, false
			}),
		{
			ID: "runtime/counts-sleepers-as-started", Requirement: "P10/sleep",
			Sentence: "The invocation behind a sleep ends with no event.",
			Runtime: func() *stage.Reference {
				return feedingPast(func(_ context.Context, p *past) error {
					if stop := p.lastStop(false); stop == len(p.log)-1 && p.event == protocol.EventWake {
						p.event = ""
					}
					return nil
				})
			},
		},
	}
}

// runtimeWaking leave sessions alone that something came for.
func runtimeWaking() []Mutant {
	// ignoring is a runtime that invokes no handler as long as all that stands
	// behind the last stop is what it does not heed.
	ignoring := func(id, sentence string, heeds func(l logged) bool) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: "P10/wake", Sentence: sentence,
			Runtime: func() *stage.Reference {
				return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
					p, _, err := pastOf(ctx, by.engine, invocation)
					if err != nil {
						return err
					}
					if stop := p.lastStop(false); stop >= 0 && stop < len(p.log)-1 && p.first(stop+1, heeds) == len(p.log) {
						return nil
					}
					return by.Invoke(ctx, invocation)
				})
			},
		}
	}
	return []Mutant{
		ignoring("stays-paused", "A session that has paused is not invoked when something comes for it.",
			func(l logged) bool { return l.Type == storage.Normal }),
		ignoring("does-not-heed-other-sessions", "A session that has paused is not invoked when another one has written to it.",
			func(l logged) bool { return l.Type != storage.Provisional }),
		{
			ID: "runtime/sleeps-on-when-something-comes", Requirement: "P10/wake",
			Sentence: "A session that is asleep is invoked at its start-at, also when something comes before.",
			Runtime: func() *stage.Reference {
				return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
					p, _, err := pastOf(ctx, by.engine, invocation)
					if err != nil {
						return err
					}
					if stop := p.lastStop(false); stop >= 0 && p.event == protocol.EventWake {
						// Longer than the cases wait, so that their end can be seen.
						left := min(time.Until(p.log[stop].Control.StartAt), 16*time.Second)
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(left):
						}
					}
					return by.Invoke(ctx, invocation)
				})
			},
		},
	}
}
