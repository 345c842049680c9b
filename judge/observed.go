package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
)

// observed is the body of conform/observed.
type observed struct {
	Session  string            `json:"session"`
	Agent    string            `json:"agent"`
	Metadata map[string]string `json:"metadata"`
	Snapshot jsontext.Value    `json:"snapshot"`
	Entries  []observedEntry   `json:"entries"`
	Events   []observedEvent   `json:"events"`
}

// observedEntry is an entry as the SDK gave it. Size is JSON text, so that no
// digit of it is lost.
type observedEntry struct {
	Event           string            `json:"event"`
	Name            string            `json:"name"`
	Size            jsontext.Value    `json:"size"`
	ContentType     string            `json:"content-type"`
	ContentEncoding string            `json:"content-encoding"`
	SchemaURL       string            `json:"schema-url"`
	Metadata        map[string]string `json:"metadata"`
	Body            *string           `json:"body"`
	Error           string            `json:"error"`
}

type observedEvent struct {
	Event string `json:"event"`
	Name  string `json:"name"`
}

// isEmpty reports whether an entry says nothing at all: a no-op or an empty
// lifecycle record.
func (e observedEntry) isEmpty() bool {
	return e.Name == "" && (len(e.Size) == 0 || isZero(e.Size)) && e.ContentType == "" && e.ContentEncoding == "" &&
		e.SchemaURL == "" && len(e.Metadata) == 0 && (e.Body == nil || *e.Body == "") && e.Error == ""
}

// isLifecycle reports whether the entry is a record that is no log entry.
func (e observedEntry) isLifecycle() bool {
	switch e.Event {
	case protocol.EventStart, protocol.EventFork, protocol.EventWake, protocol.EventMemory, protocol.EventProtocol:
		return true
	}
	return e.isEmpty()
}

// label names the entry in findings.
func (e observedEntry) label() string {
	switch {
	case e.Name != "":
		return quote(e.Name)
	case e.isLifecycle():
		return "a record with the event " + quote(e.Event)
	}
	return "an entry without a name"
}

// body decodes what the handler says the entry holds, or says why there is none.
func (e observedEntry) body() (data []byte, problem string) {
	if e.Error != "" {
		return nil, "the error " + quote(e.Error)
	}
	if e.Body == nil {
		return nil, ""
	}
	data, faults := decodeData(*e.Body)
	if len(faults) > 0 {
		return nil, "text that is no base64: " + faults[0].what
	}
	return data, ""
}

// lookObserved finds the latest answer to observe.
func lookObserved(v *invocation) (o observed, r *record, f *finding) {
	answers := v.answer(nameObserved)
	if len(answers) == 0 {
		return o, nil, &finding{where: v.where(v.output()), want: "the Output " + nameObserved,
			got: "none: the handler " + v.endWithStderr()}
	}
	r = answers[len(answers)-1]
	if err := readAnswer(r, &o); err != nil {
		return o, r, &finding{where: v.where(fmt.Sprintf("%s, record %d, byte %d", v.output(), r.number, r.offset)),
			want: nameObserved + " as the agreement has it", got: err.Error() + ": " + quoteBytes(r.data().bytes)}
	}
	return o, r, nil
}

func checkObserved(want *casefile.Observed) func(*invocation) outcome {
	return func(v *invocation) outcome {
		got, _, f := lookObserved(v)
		if f != nil {
			return failed(*f)
		}
		where := func(place string) string { return v.where(strings.TrimSuffix(nameObserved+", "+place, ", ")) }
		var c comparison
		c.text("session", want.Session, got.Session)
		c.text("agent", want.Agent, got.Agent)
		c.strings("metadata", want.Metadata, got.Metadata)
		// A handler may not know its snapshot: then it says none.
		if want.Snapshot != nil && len(got.Snapshot) > 0 && string(got.Snapshot) != "null" {
			c.add("snapshot", fmt.Sprint(*want.Snapshot), string(got.Snapshot), isInt(string(got.Snapshot), *want.Snapshot))
		}
		if len(c.differs()) > 0 {
			return failed(c.finding(where("")))
		}
		if want.Entries != nil {
			if o := compareObserved(*want.Entries, got.entries(), where); o.verdict != passed().verdict {
				return o
			}
		}
		if want.Events != nil {
			if o := compareEvents(*want.Events, got.Events, where); o.verdict != passed().verdict {
				return o
			}
		}
		if want.OnlyEntries {
			return onlyEntries(got.Entries, where)
		}
		return passed()
	}
}

// entries is the log entries that the case itself put there: without lifecycle
// records, which an SDK's reading call may yield, and without the instructions.
func (o observed) entries() []observedEntry {
	return slices.DeleteFunc(slices.Clone(o.Entries), func(e observedEntry) bool {
		return e.Name == nameInstructions || e.isLifecycle()
	})
}

func compareObserved(want []casefile.EntryMatch, got []observedEntry, where func(string) string) outcome {
	return sequence{
		what: "entry", where: where, want: len(want), got: len(got),
		compare:   func(i, k int) comparison { return compareObservedEntry(want[i], got[k]) },
		labelWant: func(i int) string { return entryLabel(want[i]) },
		labelGot:  func(k int) string { return got[k].label() },
	}.judge()
}

func compareObservedEntry(want casefile.EntryMatch, got observedEntry) (c comparison) {
	c.text("event", want.Event, got.Event)
	c.text("name", want.Name, got.Name)
	if want.Size != nil {
		text := string(got.Size)
		c.add("size", fmt.Sprint(*want.Size), orAbsent(text), isInt(text, *want.Size) || *want.Size == 0 && (text == "" || text == "null"))
	}
	c.text("content-type", want.ContentType, got.ContentType)
	c.text("content-encoding", want.ContentEncoding, got.ContentEncoding)
	c.text("schema-url", want.SchemaURL, got.SchemaURL)
	c.strings("metadata", want.Metadata, got.Metadata)
	data, problem := got.body()
	if want.Error {
		c.add("body", "an error", describeOr(problem, data), got.Error != "")
		return c
	}
	c.body(want.Body, data, problem, exactBody)
	return c
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return clip(text, 200)
}

func describeOr(problem string, data []byte) string {
	if problem != "" {
		return problem
	}
	return describe(data)
}

// entryLabel names a wanted entry.
func entryLabel(m casefile.EntryMatch) string {
	if m.Name != nil && *m.Name != "" {
		return quote(*m.Name)
	}
	if m.Body != nil {
		if plain, err := m.Body.Plain(); err == nil {
			return "the entry with " + describe(plain)
		}
	}
	return "an entry"
}

func compareEvents(want []casefile.EventMatch, got []observedEvent, where func(string) string) outcome {
	label := func(event, name string) string {
		if name == "" {
			return quote(event)
		}
		return quote(event) + " of " + quote(name)
	}
	return sequence{
		what: "event", where: where, want: len(want), got: len(got),
		compare: func(i, k int) (c comparison) {
			c.text("event", &want[i].Event, got[k].Event)
			c.text("name", want[i].Name, got[k].Name)
			return c
		},
		labelWant: func(i int) string {
			if want[i].Name == nil {
				return quote(want[i].Event)
			}
			return label(want[i].Event, *want[i].Name)
		},
		labelGot: func(k int) string { return label(got[k].Event, got[k].Name) },
	}.judge()
}

// onlyEntries wants no lifecycle record and no announcement among the entries.
func onlyEntries(got []observedEntry, where func(string) string) outcome {
	for i, e := range got {
		if e.isLifecycle() {
			return failed(finding{where: where(fmt.Sprintf("entry %d of all", i+1)), want: "log entries and nothing else", got: e.label()})
		}
	}
	if len(got) == 0 {
		return unseen("entries to look at", where("no entry at all, not even the instructions"))
	}
	return passed()
}
