package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// reasoned changes the reasons of pauses and sleeps.
func reasoned(change func([]byte) []byte) func(protocol.Output) protocol.Output {
	return func(out protocol.Output) protocol.Output {
		if out.ContentType == protocol.TypePause {
			out.Data = change(out.Data)
		}
		return out
	}
}

// lasting changes how the durations of sleeps are written.
func lasting(write func(seconds float64) string) func(protocol.Output) protocol.Output {
	return func(out protocol.Output) protocol.Output {
		text, sleeps := out.Metadata[protocol.MetadataDuration]
		seconds, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
		if !sleeps || err != nil {
			return out
		}
		out.Metadata = maps.Clone(out.Metadata)
		out.Metadata[protocol.MetadataDuration] = write(seconds)
		return out
	}
}

// handlerPauses pause and sleep in another way than section 10 and the page say.
func handlerPauses() []Mutant {
	shortest := func(seconds float64, unit string) string { return strconv.FormatFloat(seconds, 'f', -1, 64) + unit }
	return []Mutant{
		emitting("escapes-reasons", "P10/pause-output", "What is not ASCII in a reason is written as the escapes of JSON.",
			reasoned(func(reason []byte) []byte { return []byte(ascii(string(reason))) })),
		emitting("pauses-for-one-line", "P10/pause-output", "A reason ends at its first line's end.",
			reasoned(func(reason []byte) []byte {
				line, _, _ := bytes.Cut(reason, []byte("\n"))
				return line
			})),
		emitting("prints-absent-reasons", "P10/pause-output", "A pause without a reason gives None as its reason.",
			reasoned(func(reason []byte) []byte {
				if len(reason) == 0 {
					return []byte("None")
				}
				return reason
			})),
		emitting("packs-reasons-into-json", "P10/pause-output", "A reason is written as a JSON object.",
			reasoned(func(reason []byte) []byte {
				text, err := json.Marshal(map[string]string{"reason": string(reason)})
				if err != nil {
					return reason
				}
				return text
			})),
		emitting("puts-reasons-into-metadata", "P10/pause-output", "A reason stands in the metadata, and the pause has no body.",
			func(out protocol.Output) protocol.Output {
				if out.ContentType == protocol.TypePause && len(out.Data) > 0 {
					out.Metadata = maps.Clone(out.Metadata)
					if out.Metadata == nil {
						out.Metadata = map[string]string{}
					}
					out.Metadata["reason"], out.Data = string(out.Data), nil
				}
				return out
			}),
		emitting("sleeps-without-a-unit", "P10/pause-output", "A duration is a bare number of seconds.",
			lasting(func(seconds float64) string { return shortest(seconds, "") })),
		emitting("sleeps-by-iso-8601", "P10/pause-output", "A duration is written as ISO 8601 has it.",
			lasting(func(seconds float64) string { return "PT" + shortest(seconds, "S") })),
		emitting("sleeps-by-exponents", "P10/pause-output", "A large number of seconds is written with an exponent.",
			lasting(func(seconds float64) string {
				if seconds >= 1e6 {
					return fmt.Sprint(seconds) + "s"
				}
				return shortest(seconds, "s")
			})),
		emitting("sleeps-without-a-leading-digit", "P10/pause-output", "A part of a second has no digit before its point.",
			lasting(func(seconds float64) string { return strings.TrimPrefix(shortest(seconds, "s"), "0") })),
		emitting("skips-short-sleeps", "P10/pause-output", "A sleep of less than a hundredth of a second has no length.",
			lasting(func(seconds float64) string {
				if seconds < 0.01 {
					seconds = 0
				}
				return shortest(seconds, "s")
			})),
		emitting("sleeps-a-minute-for-zero", "P10/pause-output", "A sleep of no seconds lasts as long as one that was not told how long.",
			lasting(func(seconds float64) string {
				if seconds == 0 {
					seconds = 60
				}
				return shortest(seconds, "s")
			})),
		emitting("sleeps-by-the-clock", "P10/pause-output", "A duration is written as hours, minutes and seconds with colons.",
			lasting(func(seconds float64) string {
				whole := int(seconds)
				return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
			})),
		offering("pauses-twice", "P10/single-pause", "Each pause is written twice.",
			sdk{write: func(out protocol.Output) []protocol.Output {
				if out.ContentType == protocol.TypePause {
					return []protocol.Output{out, out}
				}
				return []protocol.Output{out}
			}}),
		{
			ID: "handler/pauses-after-each-write", Requirement: "P10/single-pause",
			Sentence: "A pause follows every Output that is none, whether or not code pauses.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: writes(lined(func(_ int, raw []byte) []byte {
					if o, err := parse(raw); err != nil || o.isAnswer() || o.text("content-type") == protocol.TypePause {
						return raw
					}
					return append(append(raw, '\n'), []byte(`{"data":"ZG9uZQ==","content-type":"`+protocol.TypePause+`"}`)...)
				}))}
			},
		},
		offering("controls-its-session", "P9/runtime-only", "Beside a pause a control message is written.",
			sdk{write: func(out protocol.Output) []protocol.Output {
				if out.ContentType != protocol.TypePause {
					return []protocol.Output{out}
				}
				return []protocol.Output{out, {ContentType: protocol.TypeControl, Data: []byte(`{"status":"stopped"}`)}}
			}}),
		{
			ID: "handler/says-that-it-runs", Requirement: "P9/runtime-only",
			Sentence: "After a wake the first Output is followed by a control message that says that the session runs.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Session: func(s fakehandler.Session) fakehandler.Session {
					said := false
					return &sdk{Session: s, write: func(out protocol.Output) []protocol.Output {
						events := s.Events()
						if said || len(events) == 0 || events[len(events)-1].Event != protocol.EventWake {
							return []protocol.Output{out}
						}
						said = true
						return []protocol.Output{out, {ContentType: protocol.TypeControl, Data: []byte(`{"status":"running"}`)}}
					}}
				}}
			},
		},
		emitting("pauses-without-the-reason", "K5/pause", "A pause does not say why.",
			func(out protocol.Output) protocol.Output {
				if out.ContentType == protocol.TypePause && len(out.Metadata) == 0 {
					out.Data = nil
				}
				return out
			}),
		emitting("pauses-for-a-while", "K5/pause", "A pause is written as a sleep of ten minutes.",
			func(out protocol.Output) protocol.Output {
				if out.ContentType == protocol.TypePause && len(out.Metadata) == 0 {
					out.Metadata = map[string]string{protocol.MetadataDuration: "10m"}
				}
				return out
			}),
		emitting("sleeps-without-the-reason", "K5/sleep", "A sleep does not say why.",
			func(out protocol.Output) protocol.Output {
				if out.ContentType == protocol.TypePause && len(out.Metadata) > 0 {
					out.Data = nil
				}
				return out
			}),
		emitting("takes-seconds-for-milliseconds", "K5/sleep", "A sleep lasts a thousandth of what was asked for.",
			lasting(func(seconds float64) string { return shortest(seconds, "ms") })),
		emitting("sleeps-whole-seconds", "K5/sleep", "Parts of a second are cut off from a sleep.",
			lasting(func(seconds float64) string { return shortest(math.Trunc(seconds), "s") })),
		emitting("sleeps-hundredths", "K5/sleep", "A sleep is rounded to hundredths of a second.",
			lasting(func(seconds float64) string { return fmt.Sprintf("%.2fs", seconds) })),
	}
}
