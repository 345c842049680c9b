package mutants

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// noBody is the body of what is no entry.
func noBody(context.Context) ([]byte, error) { return []byte{}, nil }

// handlerReadings give out another log than the one that came.
func handlerReadings() []Mutant {
	return []Mutant{
		offering("yields-the-lifecycle-event", "K1/read-all",
			"Behind the log the reading call yields the lifecycle event, as if it were an entry.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				var last protocol.Input
				if events := s.Events(); len(events) > 0 && events[len(events)-1].Event != protocol.EventPush {
					last.Event = events[len(events)-1].Event
				}
				return append(s.Entries(), fakehandler.Entry{Input: last, Body: noBody})
			}}),
		offering("yields-the-memory-event", "K1/read-all",
			"Before the log the reading call yields the announcement of the memory server, as if it were an entry.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				announced := fakehandler.Entry{Input: protocol.Input{Event: protocol.EventMemory}, Body: noBody}
				return append([]fakehandler.Entry{announced}, s.Entries()...)
			}}),
		losing("reads-only-what-is-new", "K1/read-all",
			"If entries are tagged as pushes, those before the first of them are left out.",
			func(all []fakehandler.Entry, at int) bool {
				return slices.IndexFunc(all, isPush) > at
			}),
		losing("reads-the-view-by-name", "K1/read-all",
			"Reading yields the latest entry of each name, not every entry.",
			func(all []fakehandler.Entry, at int) bool {
				return all[at].Name != "" && slices.ContainsFunc(all[at+1:], func(e fakehandler.Entry) bool { return e.Name == all[at].Name })
			}),
		offering("reads-by-the-order-of-names", "K1/read-all",
			"Reading yields the entries in the order of their names.",
			sdk{entries: func(s fakehandler.Session) []fakehandler.Entry {
				entries := s.Entries()
				slices.SortStableFunc(entries, func(a, b fakehandler.Entry) int { return strings.Compare(a.Name, b.Name) })
				return entries
			}}),
		losing("loses-entries-without-a-name", "P3.2/missing-is-zero",
			"Entries without a name are left out.",
			func(all []fakehandler.Entry, at int) bool { return all[at].Name == "" }),
		giving("lowers-letters", "P2/same-format",
			"Names are given out in lower-case letters.",
			func(e fakehandler.Entry) fakehandler.Entry {
				e.Name = strings.ToLower(e.Name)
				return e
			}),
		giving("lowers-the-keys-of-metadata", "P2/same-format",
			"Metadata are kept like the header of a message, with keys in lower-case letters.",
			func(e fakehandler.Entry) fakehandler.Entry {
				lowered := map[string]string{}
				for key, value := range e.Metadata {
					lowered[strings.ToLower(key)] = value
				}
				e.Metadata = lowered
				return e
			}),
		giving("reads-sizes-as-doubles", "P2/same-format",
			"A size is read as a double, which has 53 bits.",
			func(e fakehandler.Entry) fakehandler.Entry {
				e.Size = int64(float64(e.Size))
				return e
			}),
	}
}

func isPush(e fakehandler.Entry) bool { return e.Event == protocol.EventPush }

// handlerBodies give entries out with another body, type or metadata.
func handlerBodies() []Mutant {
	return []Mutant{
		giving("gives-bodies-out-packed", "K4/body",
			"A body with an encoding is given out as it is stored.", packedBody),
		giving("knows-types-without-parameters", "K4/body",
			"Content types are given out without their parameters.",
			func(e fakehandler.Entry) fakehandler.Entry {
				e.ContentType, _, _ = strings.Cut(e.ContentType, ";")
				return e
			}),
		giving("guesses-types", "K4/body",
			"Every body that is text is given out as text/plain.",
			func(e fakehandler.Entry) fakehandler.Entry {
				if strings.HasPrefix(e.ContentType, "text/") {
					e.ContentType = "text/plain"
				}
				return e
			}),
		giving("loses-empty-metadata", "K4/body",
			"Metadata with an empty value are left out.",
			func(e fakehandler.Entry) fakehandler.Entry {
				kept := map[string]string{}
				for key, value := range e.Metadata {
					if value != "" {
						kept[key] = value
					}
				}
				e.Metadata = kept
				return e
			}),
		giving("cuts-schema-urls", "P2/same-format",
			"The URL of a schema is given out without its fragment.",
			func(e fakehandler.Entry) fakehandler.Entry {
				e.SchemaURL, _, _ = strings.Cut(e.SchemaURL, "#")
				return e
			}),
		giving("trims-bodies", "P2/same-format",
			"White space at both ends of a body is taken away.", bodyBy(bytes.TrimSpace)),
		giving("translates-line-ends", "P2/same-format",
			"Bodies are read in text mode, where CR and CR LF become LF.", bodyBy(func(body []byte) []byte {
				body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
				return bytes.ReplaceAll(body, []byte("\r"), []byte("\n"))
			})),
		giving("swallows-marks", "P2/same-format",
			"A byte-order mark at the head of a body is taken away.", bodyBy(func(body []byte) []byte {
				return bytes.TrimPrefix(body, []byte(byteOrderMark))
			})),
		giving("ends-bodies-at-a-zero", "P2/same-format",
			"A body ends before its first zero byte.", bodyBy(func(body []byte) []byte {
				head, _, _ := bytes.Cut(body, []byte{0})
				return head
			})),
	}
}

// bodyBy changes the body of an entry.
func bodyBy(change func([]byte) []byte) func(fakehandler.Entry) fakehandler.Entry {
	return func(e fakehandler.Entry) fakehandler.Entry {
		read := e.Body
		e.Body = func(ctx context.Context) ([]byte, error) {
			body, err := read(ctx)
			if err != nil {
				return nil, err
			}
			return change(bytes.Clone(body)), nil
		}
		return e
	}
}

// packedBody is an entry whose body was not unpacked.
func packedBody(e fakehandler.Entry) fakehandler.Entry {
	return bodyBy(func(body []byte) []byte {
		packed, err := protocol.Compress(e.ContentEncoding, body)
		if err != nil {
			return body // in a coding that nobody unpacks
		}
		return packed
	})(e)
}

// handlerLookups look entries up by their name in another way.
func handlerLookups() []Mutant {
	return []Mutant{
		offering("looks-the-first-of-a-name-up", "K3/state",
			"Of several entries of a name the first is found.",
			sdk{latest: firstOfAName(func(fakehandler.Entry) bool { return true })}),
		offering("looks-up-among-old-entries", "K3/state",
			"Entries that are tagged as pushes are not found by their name, unless there is no other.",
			sdk{latest: func(s fakehandler.Session, name string) (fakehandler.Entry, bool) {
				all := s.Entries()
				for i := len(all) - 1; i >= 0; i-- {
					if all[i].Name == name && !isPush(all[i]) {
						return all[i], true
					}
				}
				return firstOfAName(isPush)(s, name)
			}}),
		offering("finds-what-is-not-there", "K3/load",
			"A name that no entry has is found, with an empty body.",
			sdk{latest: func(s fakehandler.Session, name string) (fakehandler.Entry, bool) {
				e, found := s.Latest(name)
				if !found {
					e.Body = noBody
				}
				return e, true
			}}),
		offering("takes-the-empty-for-absent", "K3/load",
			"An entry with an empty body is not found.",
			sdk{latest: func(s fakehandler.Session, name string) (fakehandler.Entry, bool) {
				e, found := s.Latest(name)
				if found {
					body, err := e.Body(context.Background())
					found = err != nil || len(body) > 0
				}
				return e, found
			}}),
		offering("loads-bodies-packed", "K3/load",
			"Loads by name give a body out as it is stored.",
			sdk{latest: loadedAs(packedBody)}),
		offering("loads-latin-1", "K3/load",
			"Loads by name decode every body as Latin-1.",
			sdk{latest: loadedAs(bodyBy(func(body []byte) []byte {
				var out []rune
				for _, b := range body {
					out = append(out, rune(b))
				}
				return []byte(string(out))
			}))}),
		{
			ID: "handler/loads-json-as-text", Requirement: "K3/load",
			Sentence: "A load of JSON gives its text out, as a string.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: writes(lined(editing(func(o object) object {
					return answered(o, fakehandler.NameLoaded, func(loaded object) object {
						if value := loaded.value("json"); value != nil {
							return loaded.with("json", quoted(string(value)))
						}
						return loaded
					})
				})))}
			},
		},
	}
}

// firstOfAName finds the first entry of a name that is of a kind.
func firstOfAName(is func(fakehandler.Entry) bool) func(fakehandler.Session, string) (fakehandler.Entry, bool) {
	return func(s fakehandler.Session, name string) (fakehandler.Entry, bool) {
		for _, e := range s.Entries() {
			if e.Name == name && is(e) {
				return e, true
			}
		}
		return fakehandler.Entry{}, false
	}
}

// loadedAs finds what there is, and changes it.
func loadedAs(change func(fakehandler.Entry) fakehandler.Entry) func(fakehandler.Session, string) (fakehandler.Entry, bool) {
	return func(s fakehandler.Session, name string) (fakehandler.Entry, bool) {
		e, found := s.Latest(name)
		if found {
			e = change(e)
		}
		return e, found
	}
}
