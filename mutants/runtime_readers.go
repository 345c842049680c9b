package mutants

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
)

// taking makes a runtime that reads its handlers' Outputs through a wrapper.
func taking(id, requirement, sentence string, wrap func(io.Reader) io.Reader) Mutant {
	return Mutant{ID: "runtime/" + id, Requirement: requirement, Sentence: sentence, Runtime: wired(readsOutputs{wrap: wrap})}
}

// runtimeReaders misread the stream of Outputs (section 3).
func runtimeReaders() []Mutant {
	return slices.Concat(runtimeFramings(), runtimeFields(), runtimeGarbage())
}

func runtimeFramings() []Mutant {
	return []Mutant{
		taking("reads-one-record-a-line", "P3/any-whitespace",
			"Each line of a handler's stream is taken for one record.", oneRecordALine),
		taking("reads-the-first-record-of-a-line", "P3/any-whitespace",
			"Of the records on one line of a handler's stream only the first is read.", firstRecordOfALine),
		taking("needs-white-space-between-records", "P3/any-whitespace",
			"A record right behind another fails the invocation.", refusesGlued),
		taking("needs-records-on-one-line", "P3/any-whitespace",
			"A record that is laid out over several lines fails the invocation.", refusesBrokenLines),
		taking("refuses-carriage-returns", "P3/any-whitespace",
			"A CR between tokens fails the invocation.", refusesByte('\r')),
		taking("refuses-tabs", "P3/any-whitespace",
			"A tab between tokens fails the invocation.", refusesByte('\t')),
		taking("refuses-spaces", "P3/any-whitespace",
			"A space between tokens fails the invocation.", refusesByte(' ')),
		taking("takes-a-read-for-a-record", "P3/any-whitespace",
			"What one read of the pipe returns is taken for whole records.", oneReadOneRecord),
		taking("counts-braces", "P3/any-whitespace",
			"A record ends where its braces balance, those in strings counted.", countsBraces),
		taking("loses-the-last-line", "P3/any-whitespace",
			"What follows the last LF of a handler's stream is lost.", dropsUnendedLine),
		taking("refuses-line-feeds", "P3/any-whitespace",
			"An LF between tokens fails the invocation.", refusesByte('\n')),
		taking("decodes-latin-1", "P3/utf8",
			"Outputs are decoded as Latin-1.", decodesLatin1),
		taking("leaves-escapes", "P3/utf8",
			"The escapes of strings are stored as they stand.", leavesEscapes),
	}
}

// takingEdited makes a runtime that reads other Outputs than those that came.
func takingEdited(id, requirement, sentence string, e edit) Mutant {
	return taking(id, requirement, sentence, func(r io.Reader) io.Reader { return editOutputs(r, e) })
}

func runtimeFields() []Mutant {
	return []Mutant{
		takingEdited("refuses-unknown-fields", "P3/unknown-fields",
			"A field that version 1 does not have fails the invocation.", refusesUnknown(outputFields())),
		takingEdited("reads-unknown-numbers", "P3/unknown-fields",
			"An integer of more than 64 bits in an unknown field fails the invocation.", refusesLargeNumbers),
		takingEdited("refuses-no-op-outputs", "P3/no-op-record",
			"An Output whose recognised fields are all empty fails the invocation.", refusesEmpty),
		takingEdited("counts-no-op-outputs", "P3/no-op-output",
			"An Output whose recognised fields are all empty becomes an entry.", countsEmpty),
		takingEdited("refuses-unpadded-base64", "P3.1/accept-unpadded",
			"Base64 without its padding fails the invocation.", refusesUnpadded),
		takingEdited("refuses-padded-base64", "P3.1/accept-unpadded",
			"Base64 with padding fails the invocation.", refusesPadded),
		takingEdited("pads-all-base64", "P3.1/accept-unpadded",
			"Padding is wanted after every body, also where its length asks for none.", wantsPadding),
		takingEdited("needs-data", "P3.2/missing-is-zero",
			"An Output without data or uri fails the invocation.", func(o object) (object, error) {
				if !o.isEmpty() && o.value("data") == nil && o.value("uri") == nil {
					return nil, errors.New("an Output without data")
				}
				return o, nil
			}),
		takingEdited("needs-a-name", "P3.2/missing-is-zero",
			"An Output without a name fails the invocation.", func(o object) (object, error) {
				if !o.isEmpty() && o.text("name") == "" {
					return nil, errors.New("an Output without a name")
				}
				return o, nil
			}),
		takingEdited("takes-a-written-false-for-true", "P3.2/missing-is-zero",
			"An Output with the field fork is taken for a fork, whatever its value.", func(o object) (object, error) {
				if o.value("fork") != nil {
					return o.with("fork", jsontext.Value("true")), nil
				}
				return o, nil
			}),
		takingEdited("needs-fields-in-order", "P2/same-format",
			"Fields are taken in the order of the schema only.", needsOrderOfScripts),
		{
			ID: "runtime/takes-pauses-for-entries", Requirement: "P17/closed-content-types",
			Sentence: "A pause is known by a content type of its own, and the protocol's is an entry's.",
			Runtime: taken(func(out protocol.Output) protocol.Output {
				if out.ContentType == protocol.TypePause {
					out.ContentType = "text/plain"
				}
				return out
			}),
		},
	}
}

// needsOrderOfScripts wants the content type before the name, as the schema has it.
func needsOrderOfScripts(o object) (object, error) {
	at := func(name string) int {
		return slices.IndexFunc(o, func(m member) bool { return m.name == name })
	}
	name, content := at("name"), at("content-type")
	if name >= 0 && content >= 0 && name < content {
		return nil, errors.New("a name that stands before the content type")
	}
	return o, nil
}

// runtimeGarbage goes on where a stream is no stream of records (reading R16).
func runtimeGarbage() []Mutant {
	return []Mutant{
		{
			ID: "runtime/commits-what-came-before-a-fault", Requirement: "P3/refuses-garbage",
			Sentence: "A fault of a handler's stream ends the reading, and what was read is committed.",
			Runtime:  wired(stopsAtFaults{}),
		},
		taking("skips-lines-that-are-no-records", "P3/refuses-garbage",
			"Lines of a handler's stream that are no JSON objects are passed over.", func(r io.Reader) io.Reader {
				return byLine(r, func(line []byte, _ bool) ([]byte, error) {
					if !bytes.HasPrefix(line, []byte("{")) || !jsontext.Value(line).IsValid() {
						return nil, nil
					}
					return append(line, '\n'), nil
				})
			}),
		taking("unpacks-arrays", "P3/refuses-garbage",
			"An array on a handler's stream is taken for the records in it.", func(r io.Reader) io.Reader {
				return byLine(r, func(line []byte, _ bool) ([]byte, error) {
					inner, isArray := bytes.CutPrefix(bytes.TrimSpace(line), []byte("["))
					if isArray {
						line = bytes.TrimSuffix(inner, []byte("]"))
					}
					return append(line, '\n'), nil
				})
			}),
		taking("replaces-bad-utf-8", "P3/refuses-garbage",
			"Bytes of a handler's stream that are no UTF-8 are stored as U+FFFD.", replacesBadUTF8),
	}
}

// stopsAtFaults reads up to the first fault of the stream.
type stopsAtFaults struct{ reference.JSONWire }

func (w stopsAtFaults) ReadOutputs(r io.Reader, output func(protocol.Record[protocol.Output]) error) error {
	err := w.JSONWire.ReadOutputs(r, output)
	var fault *protocol.SyntaxError
	if errors.As(err, &fault) {
		_, err = io.Copy(io.Discard, r)
	}
	return err
}
