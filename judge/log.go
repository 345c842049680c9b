package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
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
	list := m.entries(want, got, "log of "+session, session)
	if b.AnyOrder {
		return list.anyOrder()
	}
	return list.judge()
}

// isRunning reports whether an entry is a control message of an invocation that
// did not pause. Whether a commit has one is open (R57).
func isRunning(e result.Entry) bool {
	if !isControl(e) {
		return false
	}
	c := controlOf(e)
	return c != nil && c.Status == "running" && c.StartAt == ""
}

// entries holds entries of a session's log or dump against what the case wants.
func (m *moment) entries(want []casefile.EntryMatch, got []result.Entry, where, session string) sequence {
	got = slices.DeleteFunc(slices.Clone(got), isRunning)
	return sequence{
		what: "entry", want: len(want), got: len(got),
		where:     func(place string) string { return where + ", " + place },
		compare:   func(i, k int) comparison { return m.compareEntry(want[i], got[k], session) },
		labelWant: func(i int) string { return m.matchLabel(want[i]) },
		labelGot:  func(k int) string { return storedLabel(got[k]) },
	}
}

// compareEntry holds an entry of a log or a dump against what the case wants.
func (m *moment) compareEntry(want casefile.EntryMatch, got result.Entry, session string) (c comparison) {
	c.text("name", want.Name, got.Name)
	if want.Size != nil {
		c.add("size", fmt.Sprint(*want.Size), fmt.Sprint(got.Size), *want.Size == got.Size)
	}
	c.text("content-type", want.ContentType, got.ContentType)
	c.text("content-encoding", want.ContentEncoding, got.ContentEncoding)
	c.text("schema-url", want.SchemaURL, got.SchemaURL)
	c.strings("metadata", want.Metadata, got.Metadata)
	c.flag("fork", want.Fork, got.Fork)
	if want.Fork != nil && !*want.Fork && want.Target == "" {
		c.add("target-session", "absent", orAbsent(got.TargetSession), got.TargetSession == "")
	}
	m.session(&c, "target-session", want.Target, got.TargetSession)
	m.session(&c, "source-session", want.Source, got.SourceSession)
	if want.SourceVersion != nil {
		c.add("source-version", fmt.Sprint(*want.SourceVersion), fmt.Sprint(got.SourceVersion), *want.SourceVersion == got.SourceVersion)
	}
	if want.Control != nil {
		m.compareControl(&c, want.Control, got, session)
	}
	switch {
	case want.Body == nil:
	case got.Body == nil && got.Digest != "":
		compareDigest(&c, want.Body, got)
	default:
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

// compareControl compares a control message.
func (m *moment) compareControl(c *comparison, want *casefile.ControlMatch, got result.Entry, session string) {
	control := controlOf(got)
	if control == nil || !isControl(got) {
		c.add("control", "a control message", storedLabel(got), false)
		return
	}
	c.text("control status", want.Status, control.Status)
	c.text("control reason", want.Reason, control.Reason)
	if want.StartAt != nil {
		c.add("control start-at", presence(*want.StartAt), orAbsent(control.StartAt), *want.StartAt == (control.StartAt != ""))
	}
	if want.After > 0 {
		m.compareStartAt(c, time.Duration(want.After), control.StartAt, session)
	}
}

// clockSlack is how much earlier or later than by the harness's clock a start-at may
// be: what rounding to milliseconds (R34) and one machine's clock bring about.
const clockSlack = 50 * time.Millisecond

// compareStartAt holds a start-at against the time of the commit and a duration. The
// commit lies between the beginning and the end of the session's last run, and after
// all that its handler did when there was one invocation only. With several it is not
// known which of them the control message is of.
func (m *moment) compareStartAt(c *comparison, after time.Duration, got, session string) {
	r := m.lastRun(session)
	if r == nil || r.step.Started.IsZero() {
		c.add("control start-at", "after a run", "no run in the evidence", false)
		return
	}
	begun := r.step.Started
	if len(r.feeds) == 1 {
		if t := r.feeds[0].t; len(t.Events) > 0 {
			done := t.Started.Add(time.Duration(lastOutput(t)) * time.Microsecond)
			if done.After(begun) {
				begun = done
			}
		}
	}
	first := begun.Add(after - clockSlack)
	last := r.step.Started.Add(time.Duration(r.step.TookMS+1)*time.Millisecond + after + clockSlack)
	want := fmt.Sprintf("%s after the commit, from %s to %s", after, first.Format(time.RFC3339Nano), last.Format(time.RFC3339Nano))
	at, err := time.Parse(time.RFC3339Nano, got)
	c.add("control start-at", want, orAbsent(got), err == nil && !at.Before(first) && !at.After(last))
}

// lastOutput is when the handler wrote the last of its Outputs, in microseconds since
// its transcript began; zero when there is none.
func lastOutput(t *transcript.Transcript) (at int64) {
	for _, e := range t.Events {
		if e.Kind == transcript.Sent && (e.Stream == transcript.Stdout || e.Stream == transcript.Answer) {
			at = max(at, e.At)
		}
	}
	return at
}

// compareDigest compares the body of an entry whose bytes are not shown, by size and
// digest: those of the packed body, or of the unpacked one (R3).
func compareDigest(c *comparison, want *script.Body, got result.Entry) {
	plain, err := want.Plain()
	stored, err2 := want.Stored()
	if err != nil || err2 != nil {
		c.err = fmt.Errorf("the wanted body: %w", orError(err, err2))
		return
	}
	equal := func(b []byte) bool { return got.Digest == protocol.Digest(b) && got.Size == int64(len(b)) }
	c.add("body", fmt.Sprintf("%s, %d bytes", protocol.Digest(stored), len(stored)),
		fmt.Sprintf("%s, %d bytes", got.Digest, got.Size), equal(stored) || equal(plain))
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

// readControl reads the body of a control message; nil when it is none.
func readControl(body []byte) *result.Control {
	var c result.Control
	if json.Unmarshal(body, &c) != nil {
		return nil
	}
	return &c
}
