package report

import (
	"io"
	"os"
	"sync"
	"time"

	"pugmark.dev/conform/result"
)

// The widths that prose is wrapped at.
const (
	defaultWidth = 100
	minWidth     = 40
	// Longer lines than this are hard to read, however wide the window is.
	maxWidth = 120
)

// Terminal shows a run to people: its progress while it runs, then what it found.
// The zero value with Out set writes plain text and no progress, as a pipe wants
// it. Its methods are safe for concurrent use.
type Terminal struct {
	// Out is where everything is written.
	Out io.Writer
	// Color marks verdicts with the terminal's colors.
	Color bool
	// Width is the column that prose is wrapped at; zero is 100. Bytes are never
	// wrapped.
	Width int
	// Progress keeps one line up to date that says how far the run is. It needs a
	// terminal that can rewrite a line.
	Progress bool
	// Log is where lines say, now and then, how far a run is that has no progress line,
	// so that a job does not look like one that hangs; nil is nowhere.
	Log io.Writer
	// Next says, a line each, what one can do after a run that is not as it should be. It
	// is given the first result that the summary shows, or nil when only the
	// known-failures file is at fault; nil says nothing.
	Next func(first *result.Case) []string
	// Evidence is the folder that the evidence paths of cases are below, so that what
	// is printed can be opened as it stands.
	Evidence string

	now func() time.Time // time.Now, but in tests

	mu       sync.Mutex
	progress progress
}

// NewTerminal returns a Terminal for f as the environment asks for it: color and
// progress on a terminal only, neither with TERM=dumb or unset, no color with
// NO_COLOR, no progress with CI.
func NewTerminal(f *os.File, env func(string) string) *Terminal {
	t := &Terminal{Out: f}
	width, isTerminal := windowWidth(f)
	t.dress(width, isTerminal, env)
	return t
}

// dress decides what the terminal is used for.
func (t *Terminal) dress(width int, isTerminal bool, env func(string) string) {
	if width > 0 {
		t.Width = min(max(width, minWidth), maxWidth)
	}
	term := env("TERM")
	able := isTerminal && term != "" && term != "dumb"
	t.Color = able && env("NO_COLOR") == ""
	t.Progress = able && (env("CI") == "" || env("CI") == "false")
}

func (t *Terminal) width() int {
	if t.Width == 0 {
		return defaultWidth
	}
	return max(t.Width, minWidth)
}

func (t *Terminal) time() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}
