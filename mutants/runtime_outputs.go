package mutants

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// runtimeOutputs take Outputs otherwise than section 5 says.
func runtimeOutputs() []Mutant {
	return slices.Concat(runtimeOrders(), runtimeBodies(), runtimeRoutes())
}

// kept is an Output that is taken as it is.
func kept(out protocol.Output) []protocol.Output { return []protocol.Output{out} }

// gatheredOutputs holds all the Outputs of an invocation back until its end.
func gatheredOutputs(order func([]protocol.Output)) func() ear {
	return func() ear {
		var all []protocol.Output
		return ear{
			hear: func(out protocol.Output) []protocol.Output {
				all = append(all, out)
				return nil
			},
			end: func() []protocol.Output {
				order(all)
				return all
			},
		}
	}
}

// isLocal reports whether an Output is an entry of the session's own and nothing
// else.
func isLocal(out protocol.Output) bool {
	return !protocol.IsPause(out.ContentType) && !strings.HasPrefix(out.Name, protocol.MemoryPrefix) && !out.Fork && out.Session == ""
}

func runtimeOrders() []Mutant {
	// dropsBehind drops the local entries that stand behind another kind of Output.
	dropsBehind := func(is func(protocol.Output) bool) func() ear {
		return func() ear {
			seen := false
			return ear{hear: func(out protocol.Output) []protocol.Output {
				seen = seen || is(out)
				if seen && isLocal(out) {
					return nil
				}
				return kept(out)
			}}
		}
	}
	return []Mutant{
		hearing("drops-entries-behind-a-fork", "P5.2/any-order",
			"Entries behind a fork are dropped.", dropsBehind(func(out protocol.Output) bool { return out.Fork })),
		hearing("drops-entries-behind-a-memory-write", "P5.2/any-order",
			"Entries behind a memory write are dropped.", dropsBehind(func(out protocol.Output) bool {
				return strings.HasPrefix(out.Name, protocol.MemoryPrefix)
			})),
		hearing("takes-a-pause-at-the-end-alone", "P5.2/any-order",
			"A pause with Outputs behind it is dropped.", gatheredPauses),
		hearing("commits-entries-backwards", "P5.2/stream-order",
			"Entries are numbered from the last Output to the first.", gatheredOutputs(slices.Reverse[[]protocol.Output])),
		hearing("commits-entries-by-name", "P5.2/stream-order",
			"Entries are numbered in the order of their names.", gatheredOutputs(func(all []protocol.Output) {
				slices.SortStableFunc(all, func(a, b protocol.Output) int { return cmp.Compare(a.Name, b.Name) })
			})),
		hearing("commits-at-most-a-hundred-entries", "P5.2/stream-order",
			"Of an invocation's Outputs the first hundred are taken.", func() ear {
				count := 0
				return ear{hear: func(out protocol.Output) []protocol.Output {
					if count++; count > 100 {
						return nil
					}
					return kept(out)
				}}
			}),
	}
}

// gatheredPauses drops pauses that are not the last Output.
func gatheredPauses() ear {
	var pause []protocol.Output
	return ear{
		hear: func(out protocol.Output) []protocol.Output {
			if protocol.IsPause(out.ContentType) {
				pause = kept(out)
				return nil
			}
			pause = nil
			return kept(out)
		},
		end: func() []protocol.Output { return pause },
	}
}

func runtimeBodies() []Mutant {
	taken := func(id, requirement, sentence string, change func(protocol.Output) protocol.Output) Mutant {
		return Mutant{ID: "runtime/" + id, Requirement: requirement, Sentence: sentence, Runtime: taken(change)}
	}
	return []Mutant{
		taken("prefers-the-uri", "P5.3/inline-body",
			"The body of an Output with both data and uri is the one behind the uri.", func(out protocol.Output) protocol.Output {
				if out.URI != "" {
					out.Data = nil
				}
				return out
			}),
		taken("cuts-bodies-at-64-kib", "P5.3/inline-body",
			"Of a body of more than 64 KiB the beginning is stored.", func(out protocol.Output) protocol.Output {
				out.Data = out.Data[:min(len(out.Data), 64<<10)]
				return out
			}),
		taken("takes-bodies-for-text", "P5.3/inline-body",
			"Bytes of a body that are no UTF-8 are stored as U+FFFD.", func(out protocol.Output) protocol.Output {
				if out.ContentEncoding == "" {
					out.Data = bytes.ToValidUTF8(out.Data, []byte("\uFFFD"))
				}
				return out
			}),
		hearing("drops-outputs-without-a-body", "P5.3/inline-body",
			"An Output with neither data nor uri is dropped.", func() ear {
				return ear{hear: func(out protocol.Output) []protocol.Output {
					if len(out.Data) == 0 && out.URI == "" && isLocal(out) {
						return nil
					}
					return kept(out)
				}}
			}),
		taken("stores-uris-as-bodies", "P5.3/uri-body",
			"The body of an Output with a uri is the text of that uri.", func(out protocol.Output) protocol.Output {
				if out.URI != "" && len(out.Data) == 0 {
					out.Data, out.URI = []byte(out.URI), ""
				}
				return out
			}),
		{
			ID: "runtime/takes-missing-bodies-for-empty", Requirement: "P5.3/uri-body",
			Sentence: "A body that can't be fetched is stored as an empty one.",
			Runtime: func() *stage.Reference {
				return &stage.Reference{Runtime: func(r *reference.Runtime) { r.Sources = emptyOnFailure{r.Sources} }}
			},
		},
		{
			ID: "runtime/drops-outputs-with-missing-bodies", Requirement: "P5.3/uri-body",
			Sentence: "An Output whose body can't be fetched is dropped, and the others are committed.",
			Runtime: func() *stage.Reference {
				return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
					take := invocation.Output
					invocation.Output = func(record protocol.Record[protocol.Output]) error {
						if out := record.Value; out.URI != "" && len(out.Data) == 0 {
							body, err := by.engine.Sources.Open(ctx, out.URI)
							if err != nil {
								return nil
							}
							body.Close()
						}
						return take(record)
					}
					return by.Invoke(ctx, invocation)
				})
			},
		},
	}
}

// emptyOnFailure gives an empty body where there is none to be had.
type emptyOnFailure struct{ reference.Sources }

func (e emptyOnFailure) Open(ctx context.Context, uri string) (*reference.RemoteBody, error) {
	body, err := e.Sources.Open(ctx, uri)
	if err != nil && !errors.Is(err, ctx.Err()) {
		return &reference.RemoteBody{ReadCloser: io.NopCloser(strings.NewReader(""))}, nil
	}
	return body, err
}

// runtimeRoutes send Outputs by another route than section 5.3 gives them.
func runtimeRoutes() []Mutant {
	routing := func(id, sentence string, change func(*protocol.Output)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: "P5.3/routing", Sentence: sentence,
			Runtime: taken(func(out protocol.Output) protocol.Output {
				change(&out)
				return out
			}),
		}
	}
	isMemory := func(out *protocol.Output) bool { return strings.HasPrefix(out.Name, protocol.MemoryPrefix) }
	noMemory := func(out *protocol.Output) { out.Name = strings.TrimPrefix(out.Name, protocol.MemoryPrefix) }
	noPause := func(out *protocol.Output) { out.ContentType = "text/plain" }
	isPause := func(out *protocol.Output) bool { return protocol.IsPause(out.ContentType) }
	return []Mutant{
		routing("forks-before-it-pauses", "A pause with the field fork is a fork.", func(out *protocol.Output) {
			if isPause(out) && out.Fork {
				noPause(out)
			}
		}),
		routing("writes-memory-before-it-pauses", "A pause that is named like a memory object is a memory write.", func(out *protocol.Output) {
			if isPause(out) && isMemory(out) {
				noPause(out)
			}
		}),
		routing("writes-to-sessions-before-it-pauses", "A pause that names a session is a write to that session.", func(out *protocol.Output) {
			if isPause(out) && out.Session != "" {
				noPause(out)
			}
		}),
		routing("forks-before-it-writes-memory", "A fork that is named like a memory object is a fork.", func(out *protocol.Output) {
			if isMemory(out) && out.Fork {
				noMemory(out)
			}
		}),
		routing("writes-to-sessions-before-memory", "A memory write that names a session is a write to that session.", func(out *protocol.Output) {
			if isMemory(out) && out.Session != "" {
				noMemory(out)
			}
		}),
		routing("writes-to-sessions-before-it-forks", "A fork that names a session is a write to that session.", func(out *protocol.Output) {
			if out.Session != "" {
				out.Fork = false
			}
		}),
		routing("keeps-what-is-for-other-sessions", "An Output that names a session is an entry of the own one.", func(out *protocol.Output) {
			if !out.Fork {
				out.Session = ""
			}
		}),
		routing("knows-memory-in-any-letter-case", "A name that begins with Memories/ is a memory write.", func(out *protocol.Output) {
			if n := len(protocol.MemoryPrefix); len(out.Name) > n && strings.EqualFold(out.Name[:n], protocol.MemoryPrefix) {
				out.Name = protocol.MemoryPrefix + out.Name[n:]
			}
		}),
		routing("finds-memory-inside-names", "A name with memories/ anywhere in it is a memory write.", func(out *protocol.Output) {
			if _, key, found := strings.Cut(out.Name, "/"+protocol.MemoryPrefix); found {
				out.Name = protocol.MemoryPrefix + key
			}
		}),
		routing("takes-memory-for-memories", "A name that begins with memory/ is a memory write.", func(out *protocol.Output) {
			if key, found := strings.CutPrefix(out.Name, "memory/"); found {
				out.Name = protocol.MemoryPrefix + key
			}
		}),
		routing("takes-what-begins-like-a-pause-for-one", "A content type that begins like that of a pause is one.", func(out *protocol.Output) {
			if strings.HasPrefix(out.ContentType, strings.TrimSuffix(protocol.TypePause, "+text")) {
				out.ContentType = protocol.TypePause
			}
		}),
	}
}
