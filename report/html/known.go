package html

import (
	"cmp"
	"fmt"
	"strings"

	"pugmark.dev/conform/result"
)

// knownFailures is what became of the known-failures file.
type knownFailures struct {
	Summary       string
	Broken, Holds []excuse
}

// excuse is one entry of the file.
type excuse struct {
	Place   string // where it begins
	About   string // which results
	Excuses string // and in what they may end
	Reason  string
	Issue   string
	Link    bool // Issue is something to follow
	Expires string
	Found   string
	Problem string
}

// known is nil where the run had no such file.
func (m *maker) known() *knownFailures {
	x := m.run.Known
	if x == nil {
		return nil
	}
	k := &knownFailures{}
	excused := 0
	for i := range x.Entries {
		e := excuseOf(x.File, &x.Entries[i])
		excused += x.Entries[i].Excused
		if e.Problem != "" {
			k.Broken = append(k.Broken, e)
		} else {
			k.Holds = append(k.Holds, e)
		}
	}
	k.Summary = fmt.Sprintf("%d listed in %s, %d broken; %s excused", len(x.Entries), line(x.File, 200), len(k.Broken), count(excused, "result"))
	return k
}

func excuseOf(file string, e *result.Excuse) excuse {
	about := line(e.Case, 200) + " on " + line(cmp.Or(e.Transport, "every transport"), 40)
	excuses := word(e.Verdict)
	if named := e.Named(); len(named) > 0 {
		excuses += " of " + line(strings.Join(named, ", "), 600)
	}
	if len(e.Where) > 0 {
		excuses += " at " + line(strings.Join(e.Where, "; "), 600)
	}
	return excuse{
		Place: fmt.Sprintf("%s:%d", line(file, 200), e.Line), About: about, Excuses: excuses,
		Reason: line(e.Reason, 600), Issue: line(e.Issue, 600), Link: isWeb(e.Issue), Expires: line(e.Expires, 40),
		Found:   fmt.Sprintf("%s excused, of %d that it fits", count(e.Excused, "result"), e.Fits),
		Problem: line(e.Problem, 600),
	}
}

// isWeb reports whether the text is an address that a browser may be sent to by
// whoever wrote the file.
func isWeb(text string) bool {
	return (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) && line(text, 600) == text
}
