package mutants

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/stage"
)

// only is the cases whose IDs have one of the beginnings.
func only(cases []*casefile.Case, beginnings ...string) (kept []*casefile.Case) {
	for _, c := range cases {
		for _, b := range beginnings {
			if strings.HasPrefix(c.ID, b) {
				kept = append(kept, c)
			}
		}
	}
	return kept
}

func TestRightPeersAreSilentMutants(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "handler/agreement/", "handler/framing/emits-", "runtime/framing/emits-")
	o.Mutants = []Mutant{
		{ID: "handler/right", Requirement: "P3/no-bom", Handler: func() fakehandler.Agreement { return fakehandler.Agreement{} }},
		{ID: "runtime/right", Requirement: "P3/no-bom", Runtime: func() *stage.Reference { return &stage.Reference{} }},
	}
	m := kill(t, o)
	if len(m.Silent()) != 2 || m.Holds() {
		t.Errorf("%d of 2 right peers are silent mutants, and that holds is %v", len(m.Silent()), m.Holds())
	}
	for _, row := range m.Mutants {
		if row.Results == 0 {
			t.Errorf("%s was run with no case", row.ID)
		}
	}
}

func TestWrongTwinsAreAccused(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "handler/agreement/", "handler/framing/emits-no-bom", "runtime/framing/emits-no-bom")
	o.Twins = []Twin{
		{ID: "handler/marked", Transports: []string{protocol.TransportHTTP}, Handler: func() fakehandler.Agreement {
			return fakehandler.Agreement{Output: writes(layout{before: byteOrderMark, between: "\n", after: "\n"})}
		}},
		{ID: "runtime/marked", Runtime: wired(writesInputs{layout: layout{before: byteOrderMark, between: "\n", after: "\n"}})},
	}
	for _, twin := range kill(t, o).Twins {
		if len(twin.Complaints) == 0 {
			t.Errorf("%s is accused of nothing", twin.ID)
		}
	}
}

func TestSubjectsThatWorkAreNoIdlers(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "runtime/stream/")
	o.Idlers = []Idler{{ID: "runtime/right", Runtime: &stage.Reference{}}}
	m := kill(t, o)
	if got := m.Idlers[0]; len(got.Complaints) == 0 || m.Holds() {
		t.Errorf("a runtime that works passes %d checks", len(got.Complaints))
	}
}

func TestMutantsOfUnknownRequirementsAreRefused(t *testing.T) {
	o := options(t)
	o.Mutants = []Mutant{{ID: "runtime/x", Requirement: "P3/no-such", Runtime: func() *stage.Reference { return &stage.Reference{} }}}
	if _, err := Kill(t.Context(), o); err == nil || !strings.Contains(err.Error(), "P3/no-such") {
		t.Errorf("want an error that names P3/no-such, got %v", err)
	}
}

func TestOnlyFailedChecksOfTheRequirementCatch(t *testing.T) {
	check := func(id, requirement string, v result.Verdict) result.Check {
		return result.Check{ID: id, Requirement: requirement, Verdict: v}
	}
	for name, c := range map[string]struct {
		verdict result.Verdict
		checks  []result.Check
		wanted  result.Verdict
		catches int
	}{
		"it fails":                      {result.Fail, []result.Check{check("exit", "P3/utf8", result.Fail)}, result.Fail, 1},
		"two fail":                      {result.Fail, []result.Check{check("exit", "P3/utf8", result.Fail), check("log", "P3/utf8", result.Fail)}, result.Fail, 2},
		"another requirement fails":     {result.Fail, []result.Check{check("exit", "P3/no-bom", result.Fail)}, result.Fail, 0},
		"it was not run":                {result.NotTestable, []result.Check{check("exit", "P3/utf8", result.NotRun)}, result.Fail, 0},
		"it warns, and a MUST fails":    {result.Warn, []result.Check{check("exit", "P3/utf8", result.Warn)}, result.Fail, 0},
		"it warns, as a SHOULD does":    {result.Warn, []result.Check{check("exit", "P3/utf8", result.Warn)}, result.Warn, 1},
		"it fails beside a crash":       {result.Crash, []result.Check{check("exit", "P3/utf8", result.Fail)}, result.Fail, 0},
		"it fails beside a time-out":    {result.Hang, []result.Check{check("exit", "P3/utf8", result.Fail)}, result.Fail, 0},
		"it fails beside our own fault": {result.HarnessError, []result.Check{check("exit", "P3/utf8", result.Fail)}, result.Fail, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := catches(result.Case{ID: "x", Verdict: c.verdict, Checks: c.checks}, "P3/utf8", c.wanted)
			if len(got) != c.catches {
				t.Errorf("want %d catches, got %v", c.catches, got)
			}
		})
	}
}

func TestPlansChooseTransports(t *testing.T) {
	everywhereCase := &casefile.Case{ID: "a"}
	processCase := &casefile.Case{ID: "b", Transports: []string{protocol.TransportSubprocess, protocol.TransportRPC}}
	cases := []*casefile.Case{everywhereCase, processCase}
	ids := func(p plan) map[string][]string {
		list := map[string][]string{}
		for transport, cases := range p {
			for _, c := range cases {
				list[transport] = append(list[transport], c.ID)
			}
		}
		return list
	}
	for name, c := range map[string]struct {
		got  plan
		want map[string][]string
	}{
		"cheapest":          {cheapest(cases, byCost()), map[string][]string{"http": {"a"}, "subprocess": {"b"}}},
		"others":            {others(cases, byCost()), map[string][]string{"subprocess": {"a"}, "rpc": {"a", "b"}}},
		"everywhere":        {everywhere(cases, byCost()), map[string][]string{"http": {"a"}, "subprocess": {"a", "b"}, "rpc": {"a", "b"}}},
		"rotating":          {rotating(cases, byCost(), 1), map[string][]string{"subprocess": {"a", "b"}}},
		"what is not there": {cheapest(cases, []string{"http"}), map[string][]string{"http": {"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ids(c.got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnknownHandlerIsAUsageError(t *testing.T) {
	for _, id := range []string{"", "handler/no-such", "runtime/always-wakes"} {
		if got := Main(id, nil); got != 2 {
			t.Errorf("%q: want status 2, got %d", id, got)
		}
	}
}
