package judge

import (
	"fmt"
	"slices"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/transcript"
)

// The words of `exit`.
const (
	exitZero    = "0"
	exitFailure = "failure"
	exitAny     = "any"
)

// part is one key of an expectation block: what it is called, and how it is held
// against an invocation.
type part struct {
	key string
	// requirement is set where the key itself says what it is about.
	requirement string
	// stream marks a rule of section 3.
	stream bool
	// selfEvident: it can't hold for a handler that does nothing.
	selfEvident bool
	judge       func(*invocation) outcome
}

// parts lists the keys that a block gives, in order of cause: what the others
// depend on comes first.
func (h *handlerCase) parts(b *casefile.HandlerExpect) (list []part) {
	add := func(key string, judge func(*invocation) outcome) *part {
		list = append(list, part{key: key, judge: judge})
		return &list[len(list)-1]
	}
	if b.Delivered > 0 {
		add("delivered", h.checkDelivered(b.Delivered))
	}
	if b.Exit != "" {
		add("exit", checkExit(b.Exit)).selfEvident = b.Exit == exitFailure
	}
	for _, rule := range b.Stream {
		p := add("stream/"+rule, checkStream(rule))
		p.stream, p.requirement = true, casefile.StreamRules()[rule]
	}
	if b.Observed != nil {
		add("observed", checkObserved(b.Observed)).selfEvident = true
	}
	if b.Loaded != nil {
		add("loaded", checkLoaded(b.Loaded))
	}
	if b.Memory != nil {
		add("memory", checkMemory(b.Memory))
	}
	if b.Outputs != nil {
		add("outputs", checkOutputs(*b.Outputs))
	}
	if b.Silent {
		add("silent", checkSilent)
	}
	if b.Stderr != "" {
		add("stderr", func(v *invocation) outcome { return checkStderr(b.Stderr, v) })
	}
	if b.Fetches != nil {
		add("fetches", h.checkFetches(b.Fetches))
	}
	if b.BeforeClose {
		add("before-close", checkBeforeClose)
	}
	if b.AfterLifecycle {
		add("after-lifecycle", checkAfterLifecycle)
	}
	if b.OwnServers {
		add("own-servers", checkOwnServers)
	}
	if b.SameOutputs {
		add("same-outputs", h.checkSameOutputs)
	}
	if b.AnyOf != nil {
		add("any-of", h.checkAnyOf(b.AnyOf)).selfEvident = true // as far as its alternatives are
	}
	return list
}

func checkExit(want string) func(*invocation) outcome {
	return func(v *invocation) outcome {
		success, itself := v.ended.Success(), true
		switch v.ended.How {
		case transcript.HowHang, transcript.HowFlood, transcript.HowNotStarted:
			itself = false
		}
		words, ok := "the invocation succeeds: exit status 0, or a whole answer with HTTP status 200", success
		switch want {
		case exitFailure:
			words, ok = "the invocation fails by itself: another exit status, another HTTP status, or none", itself && !success
		case exitAny:
			words, ok = "the handler ends by itself", itself
		}
		if ok {
			return passed()
		}
		got := v.end()
		if !success {
			got += v.stderrTells()
		}
		return failed(finding{where: v.where("end of the handler"), want: words, got: got})
	}
}

// checkStream holds the stream against one rule. A rule passes on records that
// could have broken it, never on an empty stream.
func checkStream(rule string) func(*invocation) outcome {
	return func(v *invocation) outcome {
		o := v.stream.keeps(rule, v.output(), v.where)
		if o.verdict == result.NotRun {
			o.got = v.where(o.got + "; the handler " + v.endWithStderr())
		}
		return o
	}
}

// keeps judges one rule for a stream of either direction.
func (s *stream) keeps(rule, name string, where func(string) string) outcome {
	if v, broken := s.find(rule); broken {
		return failed(s.finding(v, name, where))
	}
	if rule == ruleNeverSplit {
		if v, suspect := s.spread(); suspect {
			return failed(s.finding(v, name, where))
		}
	}
	if len(s.records) == 0 {
		return unseen("at least one record that shows it", "no record on the stream")
	}
	if rule == ruleAlphabet || rule == ruleLineBreaks {
		if !slices.ContainsFunc(s.records, func(r record) bool { return len(r.data().bytes) > 0 }) {
			return unseen("at least one record with data in it", "no data in any record")
		}
	}
	return passed()
}

// spread finds a record that was written as two JSON values in a row. Two records
// of which one has all but the body and the next has nothing but the body are
// legal on their own; where a case asks for the rule, every record has both.
func (s *stream) spread() (violation, bool) {
	if v, ok := s.find(ruleSingle); ok && len(s.records) > 0 {
		v.want = "every record in one JSON value"
		return v, true
	}
	for i := 0; i+1 < len(s.records); i++ {
		a, b := &s.records[i], &s.records[i+1]
		if a.isNoOp(s.dir) || b.isNoOp(s.dir) {
			continue
		}
		if halves(a, b) || halves(b, a) {
			return violation{rule: ruleNeverSplit, offset: a.offset, record: a.number,
				want: "every record in one JSON value",
				got:  "one record as two values: " + clip(string(a.text), 300) + " and " + clip(string(b.text), 300)}, true
		}
	}
	return violation{}, false
}

// halves reports whether head names a record and rest holds its body.
func halves(head, rest *record) bool {
	_, headData := head.get("data")
	_, headURI := head.get("uri")
	_, restData := rest.get("data")
	return !headData && !headURI && head.str("name") != "" && restData && rest.str("name") == ""
}

func checkSilent(v *invocation) outcome {
	if len(v.stream.records) == 0 {
		return passed()
	}
	r := &v.stream.records[0]
	return failed(finding{
		where: v.where(fmt.Sprintf("%s, byte %d", v.output(), r.offset)), want: "no Output at all",
		got: fmt.Sprintf("%s, first %s", count(len(v.stream.records), "Output"), clip(string(r.text), 400)),
	})
}

func checkStderr(want string, v *invocation) outcome {
	if strings.Contains(string(v.stderr), want) || strings.Contains(string(v.stderrEnd), want) {
		return passed()
	}
	if v.t.Transport != protocol.TransportSubprocess && len(v.stderr) == 0 {
		return unseen("stderr that contains "+quote(want), "the diagnostics of this transport's handler can't be seen")
	}
	if v.missing > 0 {
		return unseen("stderr that contains "+quote(want), "not all of stderr is recorded, and what is does not contain it")
	}
	got := "nothing on stderr"
	if len(v.stderr) > 0 {
		got = fmt.Sprintf("%s on stderr%s", count(len(v.stderr), "byte"), v.stderrTells())
	}
	return failed(finding{where: v.where("stderr"), want: "text that contains " + quote(want), got: got})
}

// checkBeforeClose wants the handler's end before the end of its held input.
func checkBeforeClose(v *invocation) outcome {
	if v.t.Transport != protocol.TransportSubprocess {
		return unseen("an input that is held open", "the "+v.t.Transport+" transport has none")
	}
	for _, e := range v.t.Events {
		switch {
		case e.Ended != nil:
			return passed()
		case e.Kind == transcript.Closed && e.Stream == transcript.Stdin && strings.HasPrefix(e.Text, "by us"):
			return failed(finding{
				where: v.where("end of the input"), want: "the handler ends while its input is still open",
				got: fmt.Sprintf("the input had to be closed first, after %d ms; then the handler %s", e.At/1000, v.end()),
			})
		}
	}
	return unseen("the end of the handler", "none is recorded")
}

// checkDelivered holds the harness to the number of separate writes that the case
// is about.
func (h *handlerCase) checkDelivered(want int) func(*invocation) outcome {
	return func(v *invocation) outcome {
		stream := transcript.Stdin
		if v.t.Transport != protocol.TransportSubprocess {
			stream = transcript.Post
		}
		writes := 0
		stopped := false
		for _, e := range v.t.Events {
			if e.Stream != stream {
				continue
			}
			switch e.Kind {
			case transcript.Sent:
				writes++
			case transcript.Closed:
				stopped = strings.HasPrefix(e.Text, "by the peer")
			}
		}
		if writes >= want {
			return passed()
		}
		wanted, got := fmt.Sprintf("the input in %d writes or more", want), fmt.Sprintf("%d writes", writes)
		if stopped || !v.ended.Success() {
			return unseen(wanted, got+", then the handler "+v.end())
		}
		h.halt(result.HarnessError, v.where(fmt.Sprintf("the case wants %s, and there were %s", wanted, got)))
		return unseen(wanted, got)
	}
}

// checkSameOutputs compares the Outputs of all main invocations with the first's.
func (h *handlerCase) checkSameOutputs(v *invocation) outcome {
	if len(h.mains) < 2 {
		return unseen("two invocations to compare", "one")
	}
	first := h.mains[0]
	if len(first.stream.records) == 0 {
		return unseen("Outputs to compare", "none")
	}
	want, got := first.stream.canonical(), v.stream.canonical()
	if slices.Equal(want, got) {
		return passed()
	}
	return failed(finding{
		where: v.where(v.output()), want: "the same Outputs as in invocation 1", got: "others",
		diff: listDiff(want, got),
	})
}

// checkAnyOf wants all parts of at least one block.
func (h *handlerCase) checkAnyOf(blocks []casefile.HandlerExpect) func(*invocation) outcome {
	var alternatives [][]part
	for i := range blocks {
		alternatives = append(alternatives, h.parts(&blocks[i]))
	}
	return func(v *invocation) outcome {
		return anyOf(len(alternatives), func(i int) (string, outcome) {
			for _, p := range alternatives[i] {
				if o := v.prove(p); o.verdict != result.Pass {
					return p.key, o
				}
			}
			return "", passed()
		})
	}
}

// anyOf passes when one of n alternatives does. Else it lists what each of them
// stumbled over first.
func anyOf(n int, try func(i int) (key string, o outcome)) outcome {
	all := outcome{verdict: result.Fail}
	var wants, gots []string
	for i := range n {
		key, o := try(i)
		if o.verdict == result.Pass {
			return o
		}
		if o.verdict == result.NotRun {
			all.verdict = result.NotRun
		}
		wants = append(wants, fmt.Sprintf("(%d) %s", i+1, o.want))
		gots = append(gots, fmt.Sprintf("(%d) %s: %s", i+1, key, o.got))
		if all.where == "" {
			all.where = o.where
		}
	}
	all.want = "one of: " + strings.Join(wants, "; ")
	all.got = strings.Join(gots, "; ")
	return all
}
