package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// look reads what a `log` or `inspect` step returned.
func look[T any](steps map[string]*result.Step, verb, session string) (v T, o *outcome) {
	s, ok := steps[session]
	if !ok || s.Error != nil {
		o := unseen(fmt.Sprintf("the answer of `%s %s`", verb, session), "none in the evidence")
		return v, &o
	}
	if err := json.Unmarshal(s.Output, &v); err != nil {
		o := failed(finding{where: fmt.Sprintf("the answer of `%s %s`", verb, session), want: "the JSON of the agreement",
			got: err.Error() + ": " + quoteBytes(s.Output)})
		return v, &o
	}
	return v, nil
}

// isControl reports whether an entry is a control message.
func isControl(e result.Entry) bool { return e.ContentType == protocol.TypeControl || e.Control != nil }

// isRecordOnly reports whether an entry only records a fork, or a write to another
// session (R23), so that no handler of this session is fed it.
func isRecordOnly(e result.Entry) bool { return e.Fork || e.TargetSession != "" }

func checkLog(b *casefile.RuntimeExpect, session string, m *moment) outcome {
	log, o := look[result.Log](m.logs, "log", session)
	if o != nil {
		return *o
	}
	got := log.Entries
	if !b.WholeLog {
		got = slices.DeleteFunc(slices.Clone(got), func(e result.Entry) bool { return isControl(e) || isRecordOnly(e) })
	}
	want := *b.Log
	if len(want) == 0 && len(log.Entries) == 0 && m.invoked() == 0 {
		return unseen("a log that is known to show what there is", "an empty log, and no invocation in the whole case")
	}
	return sequence{
		what: "entry", want: len(want), got: len(got),
		where:     func(place string) string { return "log of " + session + ", " + place },
		compare:   func(i, k int) comparison { return m.compareEntry(want[i], got[k]) },
		labelWant: func(i int) string { return m.matchLabel(want[i]) },
		labelGot:  func(k int) string { return storedLabel(got[k]) },
	}.judge()
}

// compareEntry holds an entry of a log or a dump against what the case wants.
func (m *moment) compareEntry(want casefile.EntryMatch, got result.Entry) (c comparison) {
	c.text("name", want.Name, got.Name)
	if want.Size != nil {
		c.add("size", fmt.Sprint(*want.Size), fmt.Sprint(got.Size), *want.Size == got.Size)
	}
	c.text("content-type", want.ContentType, got.ContentType)
	c.text("content-encoding", want.ContentEncoding, got.ContentEncoding)
	c.text("schema-url", want.SchemaURL, got.SchemaURL)
	c.strings("metadata", want.Metadata, got.Metadata)
	c.flag("fork", want.Fork, got.Fork)
	m.session(&c, "target-session", want.Target, got.TargetSession)
	m.session(&c, "source-session", want.Source, got.SourceSession)
	if want.Control != nil {
		compareControl(&c, want.Control, got)
	}
	if want.Body != nil {
		data, problem := got.Body, ""
		if got.ContentEncoding != "" {
			plain, err := decoded(got.Body, got.ContentEncoding)
			if err != nil {
				problem = fmt.Sprintf("%s, which can't be decoded: %v", describe(got.Body), err)
			}
			data = plain
		}
		c.body(want.Body, data, problem, exactBody)
	}
	return c
}

// session compares a session by the name that the case gives it.
func (m *moment) session(c *comparison, field, want, got string) {
	if want == "" {
		return
	}
	name := strings.TrimSuffix(strings.TrimPrefix(want, "{"), "}")
	id, ok := m.id(name)
	c.add(field, name, m.name(got), ok && id == got)
}

// compareControl compares a control message, from the entry's own field or from
// its body.
func compareControl(c *comparison, want *casefile.ControlMatch, got result.Entry) {
	control := got.Control
	if control == nil && len(got.Body) > 0 {
		control = &result.Control{}
		if err := json.Unmarshal(got.Body, control); err != nil {
			control = nil
		}
	}
	if control == nil || !isControl(got) {
		c.add("control", "a control message", storedLabel(got), false)
		return
	}
	c.text("control status", want.Status, control.Status)
	c.text("control reason", want.Reason, control.Reason)
	if want.StartAt != nil {
		c.add("control start-at", presence(*want.StartAt), orAbsent(control.StartAt), *want.StartAt == (control.StartAt != ""))
	}
}

func presence(b bool) string {
	if b {
		return "present"
	}
	return "absent"
}

func (m *moment) matchLabel(w casefile.EntryMatch) string {
	switch {
	case w.Control != nil:
		return "a control message"
	case w.Fork != nil && *w.Fork:
		return "a fork record"
	}
	return entryLabel(w)
}

func storedLabel(e result.Entry) string {
	switch {
	case isControl(e):
		return "a control message"
	case e.Fork:
		return "a fork record"
	case e.TargetSession != "":
		return "the record of a write to another session"
	case e.Name != "":
		return quote(e.Name)
	}
	return "the entry with " + describe(e.Body)
}

func checkVersion(want int64, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	switch {
	case o != nil:
		return *o
	case dump.Version != want:
		return failed(finding{where: "dump of " + session + ", version", want: fmt.Sprint(want), got: fmt.Sprint(dump.Version)})
	}
	return m.real(dump, session)
}

func checkTypes(want []string, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	snapshots := slices.Clone(dump.Snapshots)
	slices.SortStableFunc(snapshots, func(a, b result.Snapshot) int { return int(a.Version - b.Version) })
	got := make([]string, 0, len(snapshots))
	for _, s := range snapshots {
		got = append(got, s.Type)
	}
	if !slices.Equal(want, got) {
		return failed(finding{where: "dump of " + session + ", snapshot types", want: strings.Join(want, ", "),
			got: orElse(strings.Join(got, ", "), "none"), diff: structDiff(want, got)})
	}
	return m.real(dump, session)
}

func checkParent(want, session string, m *moment) outcome {
	dump, o := look[result.Dump](m.dumps, "inspect", session)
	if o != nil {
		return *o
	}
	id, ok := m.id(want)
	switch {
	case !ok:
		return unseen("the ID of the session "+want, "none in the evidence")
	case dump.Parent == nil:
		return failed(finding{where: "dump of " + session + ", parent", want: want, got: "no parent"})
	case dump.Parent.Session != id:
		return failed(finding{where: "dump of " + session + ", parent", want: want + " (" + id + ")", got: m.name(dump.Parent.Session)})
	}
	return m.real(dump, session)
}

// real passes a dump that is of the session asked for: an empty object has the
// version 0 and no snapshots, too.
func (m *moment) real(dump result.Dump, session string) outcome {
	if id, ok := m.id(session); !ok || dump.Session != id {
		return failed(finding{where: "dump of " + session + ", session", want: orElse(id, session), got: orElse(dump.Session, "none")})
	}
	return passed()
}
