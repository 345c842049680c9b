package mutants

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimePauses record pauses otherwise than sections 9 and 10 say.
func runtimePauses() []Mutant {
	return slices.Concat(runtimeShapes(), runtimeReasons(), runtimeSeveralPauses(), runtimeImplicitPauses())
}

func runtimeShapes() []Mutant {
	shaping := func(id, sentence string, change func(o object) object) Mutant {
		return Mutant{ID: "runtime/" + id, Requirement: "P9/shape", Sentence: sentence, Runtime: shown(change)}
	}
	inStart := func(write func(time.Time) string) func(object) object {
		return func(o object) object {
			if at, err := time.Parse(time.RFC3339Nano, o.text("start-at")); err == nil {
				return o.with("start-at", []byte(write(at)))
			}
			return o
		}
	}
	return []Mutant{
		shaping("calls-a-stop-paused", "The status of a control message is paused.", func(o object) object {
			return o.with("status", quoted("paused"))
		}),
		shaping("writes-its-status-in-capitals", "The status of a control message is in upper case.", func(o object) object {
			return o.with("status", quoted(strings.ToUpper(o.text("status"))))
		}),
		shaping("writes-start-at-in-seconds", "The start-at of a control message is a number of seconds.", inStart(func(at time.Time) string {
			return strconv.FormatInt(at.Unix(), 10)
		})),
		shaping("writes-start-at-without-a-zone", "The start-at of a control message has no zone.", inStart(func(at time.Time) string {
			return `"` + at.Format("2006-01-02 15:04:05.000") + `"`
		})),
		shaping("gives-pauses-a-start-at", "A pause without a duration has a start-at in the year 1.", func(o object) object {
			if o.value("start-at") == nil {
				return o.with("start-at", quoted("0001-01-01T00:00:00Z"))
			}
			return o
		}),
		shaping("writes-reasons-as-objects", "The reason of a control message is an object.", func(o object) object {
			if text := o.text("reason"); text != "" {
				return o.with("reason", []byte(`{"text":`+string(quoted(text))+`}`))
			}
			return o
		}),
	}
}

func runtimeReasons() []Mutant {
	reason := func(id, sentence string, change func(*reference.Control)) Mutant {
		return Mutant{ID: "runtime/" + id, Requirement: "P10/control-at-commit", Sentence: sentence, Runtime: messaging(change)}
	}
	return []Mutant{
		reason("forgets-the-reason", "A control message has no reason.", func(c *reference.Control) { c.Reason = "" }),
		reason("keeps-one-line-of-a-reason", "Of a reason the first line is kept.", func(c *reference.Control) {
			c.Reason, _, _ = strings.Cut(c.Reason, "\n")
		}),
		reason("keeps-the-ascii-of-a-reason", "Of a reason the ASCII is kept.", func(c *reference.Control) {
			c.Reason = strings.Map(func(r rune) rune {
				if r > '~' {
					return -1
				}
				return r
			}, c.Reason)
		}),
		reason("gives-empty-reasons-a-text", "A pause without a reason gets one from the runtime.", func(c *reference.Control) {
			if c.Reason == "" {
				c.Reason = "paused by the handler"
			}
		}),
		{
			ID: "runtime/stops-after-every-invocation", Requirement: "P10/control-at-commit",
			Sentence: "Each commit of an invocation gets a control message that says stopped.",
			Runtime: func() *stage.Reference {
				return entering(func(ctx context.Context, c *commit) error {
					if !c.isInvocations() || c.Controlled == c.Version {
						return nil
					}
					return c.stop(ctx, reference.Control{Status: reference.StatusStopped})
				})
			},
		},
	}
}

// stop ends a snapshot with a control message.
func (c *commit) stop(ctx context.Context, message reference.Control) error {
	var e storage.Entry
	if err := c.setControl(ctx, &e, message); err != nil {
		return err
	}
	c.Entries = append(c.Entries, e)
	c.Controlled = c.Version
	return nil
}

func runtimeSeveralPauses() []Mutant {
	// ofPauses replaces the pauses of an invocation by one, at its end.
	ofPauses := func(choose func(pauses []protocol.Output) protocol.Output) func() ear {
		return func() ear {
			var pauses []protocol.Output
			return ear{
				hear: func(out protocol.Output) []protocol.Output {
					if protocol.IsPause(out.ContentType) {
						pauses = append(pauses, out)
						return nil
					}
					return kept(out)
				},
				end: func() []protocol.Output {
					if len(pauses) == 0 {
						return nil
					}
					return kept(choose(pauses))
				},
			}
		}
	}
	sleepOf := func(out protocol.Output) time.Duration {
		d, err := protocol.ParseDuration(out.Metadata[protocol.MetadataDuration])
		if err != nil {
			return -1
		}
		return d
	}
	longest := func(pauses []protocol.Output) protocol.Output {
		return slices.MaxFunc(pauses, func(a, b protocol.Output) int { return int(sleepOf(a)/time.Millisecond - sleepOf(b)/time.Millisecond) })
	}
	ends := func(is func(protocol.Output) bool) func() ear {
		return func() ear {
			paused := false
			return ear{hear: func(out protocol.Output) []protocol.Output {
				if paused && !protocol.IsPause(out.ContentType) && is(out) {
					return nil
				}
				paused = paused || protocol.IsPause(out.ContentType)
				return kept(out)
			}}
		}
	}
	return []Mutant{
		hearing("ends-with-the-pause", "P10/continue",
			"Outputs behind a pause are dropped.", ends(func(protocol.Output) bool { return true })),
		hearing("keeps-entries-alone-behind-a-pause", "P10/continue",
			"Behind a pause entries of the own session are taken, and no other Outputs.", ends(func(out protocol.Output) bool { return !isLocal(out) })),
		hearing("keeps-the-first-pause", "P10/last-pause",
			"Of several pauses the first counts.", ofPauses(func(pauses []protocol.Output) protocol.Output { return pauses[0] })),
		hearing("keeps-the-longest-sleep", "P10/last-pause",
			"Of several pauses the one with the longest sleep counts.", ofPauses(longest)),
		hearing("mixes-pauses", "P10/last-pause",
			"Of several pauses the last one gives the reason and the latest duration stays.", ofPauses(func(pauses []protocol.Output) protocol.Output {
				last := pauses[len(pauses)-1]
				for _, p := range slices.Backward(pauses) {
					if sleepOf(p) >= 0 {
						last.Metadata = p.Metadata
						break
					}
				}
				return last
			})),
		hearing("takes-any-pause-for-a-pure-one", "P10/last-pause",
			"A sleep among several pauses counts as a pause without a duration.", ofPauses(func(pauses []protocol.Output) protocol.Output {
				last := pauses[len(pauses)-1]
				if len(pauses) > 1 {
					last.Metadata = nil
				}
				return last
			})),
	}
}

func runtimeImplicitPauses() []Mutant {
	implicit := func(id, requirement, sentence string, change func(ctx context.Context, c *commit) error) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: func() *stage.Reference {
				return entering(func(ctx context.Context, c *commit) error {
					if !c.isInvocations() || !slices.ContainsFunc(c.Entries, func(e storage.Entry) bool { return e.Fork }) {
						return nil
					}
					return change(ctx, c)
				})
			},
		}
	}
	stopped := func(c *commit) bool { return c.Controlled == c.Version }
	always := func(ctx context.Context, c *commit) error {
		if stopped(c) {
			return nil
		}
		return c.stop(ctx, reference.Control{Status: reference.StatusStopped})
	}
	return []Mutant{
		implicit("runs-on-after-forks", "P10/implicit-pause",
			"An invocation with forks alone leaves the session running.", func(ctx context.Context, c *commit) error {
				last := len(c.Entries) - 1
				if message, err := control(c.Entries[last]); stopped(c) && err == nil && message.Reason == "" {
					c.Entries = c.Entries[:last]
					c.Controlled = 0
				}
				return nil
			}),
		implicit("pauses-after-any-fork", "P10/implicit-pause",
			"An invocation with a fork among its Outputs pauses the session.", always),
		implicit("pauses-after-forks-and-writes", "P10/implicit-pause",
			"An invocation with forks and writes to other sessions pauses the session.", func(ctx context.Context, c *commit) error {
				if slices.ContainsFunc(c.Entries, func(e storage.Entry) bool { return e.TargetSession == "" }) {
					return nil
				}
				return always(ctx, c)
			}),
		implicit("gives-forks-a-reason", "P10/implicit-pause",
			"An invocation with forks pauses with a reason of the runtime's, whatever the handler's is.", func(ctx context.Context, c *commit) error {
				if !stopped(c) {
					return nil
				}
				last := &c.Entries[len(c.Entries)-1]
				message, err := control(*last)
				if err != nil {
					return err
				}
				message.Reason = "waiting for children"
				return c.setControl(ctx, last, message)
			}),
		implicit("leaves-the-status-of-forks-unknown", "P10/implicit-pause",
			"The control message of an implicit pause has the status unknown.", func(ctx context.Context, c *commit) error {
				last := &c.Entries[len(c.Entries)-1]
				message, err := control(*last)
				if !stopped(c) || err != nil || message.Reason != "" {
					return err
				}
				message.Status = reference.StatusUnknown
				return c.setControl(ctx, last, message)
			}),
	}
}
