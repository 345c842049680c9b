package html

import (
	"fmt"
	"strings"

	"pugmark.dev/conform/report"
	"pugmark.dev/conform/result"
)

// recorded is what the evidence of a case has to show.
type recorded struct {
	Faults      []string
	Steps       []step
	Invocations []invocation
	Left        string
}

// step is an act of a story.
type step struct {
	Line, Text string
	Took       string
	Error      string
	Output     string
	Proves     string
}

// recorded lays out evidence, as much of it as the limits admit.
func (l limits) recorded(e *result.Evidence, targets []target) *recorded {
	r := &recorded{}
	if e.Fault != "" {
		r.Faults = append(r.Faults, line(e.Fault, l.text))
	}
	if e.TimedOut != "" {
		r.Faults = append(r.Faults, "the limit of the whole case passed: "+line(e.TimedOut, 100))
	}
	if e.TimeScale != 0 && e.TimeScale != 1 {
		r.Faults = append(r.Faults, fmt.Sprintf("every time limit was multiplied by %g", e.TimeScale))
	}
	if isStory(e.Steps) {
		for i := range e.Steps {
			if i == l.steps {
				r.Left = count(len(e.Steps)-i, "further step")
				break
			}
			r.Steps = append(r.Steps, l.step(&e.Steps[i]))
		}
	}
	w := wire{limits: l, targets: targets}
	main := 0
	for i := range e.Invocations {
		if !isOther(e.Invocations[i].Role) {
			main++
		}
		if len(r.Invocations) == l.streams {
			if r.Left != "" {
				r.Left += " and "
			}
			r.Left += count(len(e.Invocations)-i, "further invocation")
			break
		}
		r.Invocations = append(r.Invocations, w.invocation(&e.Invocations[i], i+1, len(e.Invocations), main))
	}
	return r
}

// isStory reports whether the steps say more than that a handler was invoked.
func isStory(steps []result.Step) bool {
	for _, s := range steps {
		if s.Verb != "invoke" || s.Error != nil {
			return true
		}
	}
	return false
}

func (l limits) step(s *result.Step) step {
	out := step{Text: line(strings.TrimSpace(s.Verb+" "+strings.Join(s.Args, " ")), max(l.line, 80))}
	if s.Line > 0 {
		out.Line = fmt.Sprint(s.Line)
	}
	if s.Verb == "require" {
		out.Proves = "what follows proves it"
	}
	if s.TookMS > 0 {
		out.Took = report.Duration(s.TookMS)
	}
	if s.Error != nil {
		out.Error = line(s.Error.Kind+": "+s.Error.Message, l.text)
		if s.WantError {
			out.Error += " (wanted)"
		}
	}
	if text := string(s.Output); text != "" && text != "null" {
		out.Output = block(laidOut(s.Output), l.steps*8)
	}
	return out
}
