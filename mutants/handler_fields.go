package mutants

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// editingInputs makes a handler that reads other records than those that came.
func editingInputs(id, requirement, sentence string, e edit) Mutant {
	return reading(id, requirement, sentence, func(r io.Reader) io.Reader { return editInputs(r, e) })
}

// handlerFields misread the fields of sections 3 and 4.
func handlerFields() []Mutant {
	return slices.Concat(handlerUnknownFields(), handlerEmptyFields(), handlerEntries())
}

func handlerUnknownFields() []Mutant {
	return []Mutant{
		editingInputs("refuses-unknown-fields", "P3/unknown-fields",
			"A field that version 1 does not have is a fault.", refusesUnknown(inputFields())),
		editingInputs("reads-unknown-numbers", "P3/unknown-fields",
			"An integer of more than 64 bits in an unknown field is a fault.", refusesLargeNumbers),
		editingInputs("ignores-letter-case", "P3/unknown-fields",
			"Field names match in any letter case.", func(o object) (object, error) {
				o = slices.Clone(o)
				for i := range o {
					o[i].name = strings.ToLower(strings.ReplaceAll(o[i].name, "_", "-"))
				}
				return lastOfEach(o), nil
			}),
		editingInputs("refuses-no-op-records", "P3/no-op-record",
			"A record whose recognised fields are all empty is a fault.", refusesEmpty),
		editingInputs("counts-no-op-records", "P3/no-op-record",
			"A record whose recognised fields are all empty is taken for an entry.", countsEmpty),
		reading("takes-a-no-op-for-the-lifecycle-event", "P3/no-op-record",
			"The first empty record is taken for the lifecycle event, whatever follows it.",
			func(r io.Reader) io.Reader {
				return editInputs(r, func(o object) (object, error) {
					if o.isEmpty() {
						return nil, io.EOF
					}
					return o, nil
				})
			}),
		editingInputs("refuses-unpadded-base64", "P3.1/accept-unpadded",
			"Base64 without its padding is a fault.", refusesUnpadded),
		editingInputs("refuses-padded-base64", "P3.1/accept-unpadded",
			"Base64 with padding is a fault.", refusesPadded),
		editingInputs("pads-all-base64", "P3.1/accept-unpadded",
			"Padding is wanted after every body, also where its length asks for none.", wantsPadding),
	}
}

func handlerEmptyFields() []Mutant {
	return []Mutant{
		editingInputs("takes-empty-data-for-a-body", "P3.2/missing-is-zero",
			"An empty data field beside a url is taken for an empty body.", func(o object) (object, error) {
				if o.isEntry() && string(o.value("data")) == `""` {
					return o.without("url"), nil
				}
				return o, nil
			}),
		editingInputs("needs-a-content-type", "P3.2/missing-is-zero",
			"An entry without a content type is a fault.", func(o object) (object, error) {
				if o.isEntry() && o.text("content-type") == "" {
					return nil, errors.New("an entry without a content type")
				}
				return o, nil
			}),
		editingInputs("ignores-data", "P7.1/prefer-data",
			"The body is always fetched, also when the record carries it.", func(o object) (object, error) {
				return o.without("data"), nil
			}),
		editingInputs("prefers-the-url", "P7.1/prefer-data",
			"The body is fetched when the record has both data and a url.", func(o object) (object, error) {
				if o.isEntry() && o.value("url") != nil {
					return o.without("data"), nil
				}
				return o, nil
			}),
		editingInputs("has-a-small-inline-limit", "P7.1/prefer-data",
			"Inline bodies of more than 512 bytes are a fault.", func(o object) (object, error) {
				if len(o.text("data")) > 512*4/3 {
					return nil, errors.New("a body that is too large to be inline")
				}
				return o, nil
			}),
		editingInputs("takes-data-as-unpacked", "P7.1/prefer-data",
			"The record's content encoding is not applied to its inline body.", func(o object) (object, error) {
				if o.value("data") != nil {
					return o.without("content-encoding"), nil
				}
				return o, nil
			}),
	}
}

func handlerEntries() []Mutant {
	return []Mutant{
		editingInputs("needs-fields-in-order", "P2/same-format",
			"Fields are taken in the order of the schema only.", needsOrder(inputFields())),
		editingInputs("loses-content-types", "P2/same-format",
			"Entries lose their content type.", func(o object) (object, error) {
				return o.without("content-type"), nil
			}),
		reading("keeps-one-entry-a-name", "P2/same-format",
			"Of several entries of a name only the first is kept.", func(r io.Reader) io.Reader {
				seen := map[string]bool{}
				return editInputs(r, func(o object) (object, error) {
					name := o.text("name")
					if o.isEntry() && name != "" && seen[name] {
						return nil, nil
					}
					seen[name] = true
					return o, nil
				})
			}),
		reading("reads-a-hundred-entries", "P2/same-format",
			"Entries after the hundredth are lost, instructions aside.", func(r io.Reader) io.Reader {
				count := 0
				return editInputs(r, func(o object) (object, error) {
					if o.isEntry() && !o.isAnswer() {
						if count++; count > 100 {
							return nil, nil
						}
					}
					return o, nil
				})
			}),
		reading("needs-an-entry", "P4.2/empty-session",
			"A session without entries is a fault.", func(r io.Reader) io.Reader {
				any := false
				return editInputs(r, func(o object) (object, error) {
					any = any || o.isEntry()
					if o.isLifecycle() && !any {
						return nil, errors.New("the session has no entries")
					}
					return o, nil
				})
			}),
		editingInputs("ignores-the-protocol-event", "P17/protocol-event",
			"The announcement of another version is passed over.", func(o object) (object, error) {
				if o.text("event") == protocol.EventProtocol {
					return nil, nil
				}
				return o, nil
			}),
		editingInputs("knows-minor-versions", "P17/protocol-event",
			"Version 1.1 is taken for version 1.", func(o object) (object, error) {
				metadata, err := parse(o.value("metadata"))
				if o.text("event") == protocol.EventProtocol && err == nil && strings.HasPrefix(metadata.text("version"), "1.") {
					return nil, nil
				}
				return o, nil
			}),
		{
			ID: "handler/refuses-a-snapshot-twice", Requirement: "P1/replay-tolerant",
			Sentence: "A second invocation on the same entries is a fault.",
			Handler: func() fakehandler.Agreement {
				seen := &seenLogs{logs: map[string]bool{}}
				return fakehandler.Agreement{Input: seen.input}
			},
			Transports: []string{protocol.TransportRPC, protocol.TransportHTTP},
		},
	}
}

// refusesUnknown takes a field that is not in the schema for a fault.
func refusesUnknown(fields []member) edit {
	return func(o object) (object, error) {
		for _, m := range o {
			if !slices.ContainsFunc(fields, func(f member) bool { return f.name == m.name }) {
				return nil, fmt.Errorf("the unknown field %q", m.name)
			}
		}
		return o, nil
	}
}

// refusesLargeNumbers reads the values of unknown fields too, and knows integers of
// 64 bits only.
func refusesLargeNumbers(o object) (object, error) {
	for _, m := range o {
		if m.value.Kind() == '0' && !strings.ContainsAny(string(m.value), ".eE") {
			if _, err := strconv.ParseInt(string(m.value), 10, 64); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// lastOfEach keeps the last member of each name.
func lastOfEach(o object) (kept object) {
	for i, m := range o {
		if !slices.ContainsFunc(o[i+1:], func(later member) bool { return later.name == m.name }) {
			kept = append(kept, m)
		}
	}
	return kept
}

func refusesEmpty(o object) (object, error) {
	if o.isEmpty() {
		return nil, errors.New("a record without fields")
	}
	return o, nil
}

func countsEmpty(o object) (object, error) {
	if o.isEmpty() {
		return object{{"content-type", jsontext.Value(`"application/octet-stream"`)}}, nil
	}
	return o, nil
}

func refusesUnpadded(o object) (object, error) {
	if len(o.text("data"))%4 != 0 {
		return nil, errors.New("incorrect padding")
	}
	return o, nil
}

func refusesPadded(o object) (object, error) {
	if strings.HasSuffix(o.text("data"), "=") {
		return nil, errors.New("a character outside of the alphabet of base64")
	}
	return o, nil
}

func wantsPadding(o object) (object, error) {
	if data := o.text("data"); data != "" && !strings.HasSuffix(data, "=") {
		return nil, errors.New("incorrect padding")
	}
	return o, nil
}

// needsOrder wants the fields of the schema in its order.
func needsOrder(fields []member) edit {
	return func(o object) (object, error) {
		last := -1
		for _, m := range o {
			at := slices.IndexFunc(fields, func(f member) bool { return f.name == m.name })
			if at >= 0 && at < last {
				return nil, fmt.Errorf("the field %q out of order", m.name)
			}
			last = max(last, at)
		}
		return o, nil
	}
}

// seenLogs remembers which logs were handled, by their URLs' paths and names.
type seenLogs struct {
	mu   sync.Mutex
	logs map[string]bool
}

func (s *seenLogs) input(r io.Reader) io.Reader {
	var log strings.Builder
	return editInputs(r, func(o object) (object, error) {
		if !o.isLifecycle() {
			log.WriteString(o.text("name") + " " + pathOf(o.text("url")) + "\n")
			return o, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.logs[log.String()] {
			return nil, errors.New("these entries were handled before")
		}
		s.logs[log.String()] = true
		return o, nil
	})
}
