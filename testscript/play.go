package testscript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gotestscript "github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/tools/txtar"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/stage"
)

// play is one story on its way.
type play struct {
	story *casefile.Story
	world *stage.World
	err   error
}

// Play plays a .txtar case in a world. Its error is [stage.ErrUnexpected] when a
// step did not go as the story wants, the context's when time ran out, and else
// a fault of the story or of the harness.
func Play(ctx context.Context, c *casefile.Case, w *stage.World) (err error) {
	dir, err := os.MkdirTemp("", "pugmark-story-")
	if err != nil {
		return err
	}
	defer func() {
		if rm := os.RemoveAll(dir); err == nil {
			err = rm
		}
	}()
	p := &play{story: c.Story, world: w}
	archive := &txtar.Archive{Comment: []byte(numbered(c.Story))}
	file := filepath.Join(dir, "story.txtar")
	if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
		return err
	}
	t := &host{}
	t.guard(func() {
		gotestscript.RunT(t, gotestscript.Params{
			Files: []string{file}, WorkdirRoot: dir,
			Cmds: p.commands(ctx),
		})
	})
	switch {
	case p.err != nil:
		return p.err
	case t.failed:
		return fmt.Errorf("%s: %s", c.File, strings.TrimSpace(t.log.String()))
	}
	return nil
}

// commands binds the verbs to this play.
func (p *play) commands(ctx context.Context) map[string]func(*gotestscript.TestScript, bool, []string) {
	commands := map[string]func(*gotestscript.TestScript, bool, []string){}
	for _, v := range Verbs() {
		commands[v.Name] = func(ts *gotestscript.TestScript, refused bool, args []string) {
			at := stage.At{WantError: refused}
			if len(args) > 0 && strings.HasPrefix(args[0], place) {
				line, either := strings.CutSuffix(strings.TrimPrefix(args[0], place), "?")
				if n, err := strconv.Atoi(line); err == nil {
					at.Line, at.Either, args = n, either, args[1:]
				}
			}
			if n := len(args); n > 0 && args[n-1] == "&" && strings.HasSuffix(v.Args, "[&]") {
				at.Background, args = true, args[:n-1]
			}
			switch {
			case len(args) < v.min || len(args) > v.max:
				p.err = fmt.Errorf("line %d: %s takes %s", at.Line, v.Name, v.Args)
			default:
				p.err = v.act(ctx, p, at, args)
			}
			if p.err != nil && !errors.Is(p.err, stage.ErrUnexpected) {
				p.err = fmt.Errorf("line %d: %s %s: %w", at.Line, v.Name, strings.Join(args, " "), p.err)
			}
			if p.err != nil {
				ts.Fatalf("%v", p.err)
			}
		}
	}
	return commands
}

// place marks the argument that carries a command's line number to its verb: the
// library keeps the number to itself.
const place = "@line-"

var command = regexp.MustCompile(`^(\s*(?:!\s*)?)(\?\s*)?([a-z][a-z-]*)(.*)$`)

// numbered is the script with each command's line in the case file as its first
// argument, where a ? stands too that was before the command: the library knows none.
// A run that the next expectation says the end of is judged there in any case: that
// it fails is what the case found, and no premise that did not hold.
func numbered(s *casefile.Story) string {
	lines := strings.Split(s.Script, "\n")
	for i, line := range lines {
		either := ""
		if m := command.FindStringSubmatch(line); m != nil && (m[2] != "" || m[1] == "" && isJudgedBelow(s, lines[i:])) {
			either = "?"
		}
		lines[i] = command.ReplaceAllString(line, fmt.Sprintf("${1}${3} %s%d%s${4}", place, s.ScriptLine+i, either))
	}
	return strings.Join(lines, "\n")
}

// isJudgedBelow reports whether the first of the lines is a run, and an expectation
// right behind it says how that ends.
func isJudgedBelow(s *casefile.Story, lines []string) bool {
	words := strings.Fields(lines[0])
	if len(words) < 2 || words[0] != "run" && words[0] != "run-once" || words[len(words)-1] == "&" {
		return false
	}
	speaks := func(b casefile.RuntimeExpect) bool { return b.Run != "" && (b.Session == "" || b.Session == words[1]) }
	for _, line := range lines[1:] {
		next := strings.Fields(line)
		switch {
		case len(next) == 2 && next[0] == "expect":
			return slices.ContainsFunc(s.Expects[next[1]], func(b casefile.RuntimeExpect) bool {
				return speaks(b) || len(b.AnyOf) > 0 && !slices.ContainsFunc(b.AnyOf, func(b casefile.RuntimeExpect) bool { return !speaks(b) })
			})
		case len(next) > 0 && !strings.HasPrefix(next[0], "#") && next[0] != "require":
			return false
		}
	}
	return false
}

// host is what the library runs a script on, in place of a test of package testing.
type host struct {
	log    strings.Builder
	failed bool
}

// stopped is how FailNow and Skip leave a script.
type stopped struct{}

func (h *host) guard(f func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stopped); !ok {
				panic(r)
			}
		}
	}()
	f()
}

func (h *host) Run(_ string, f func(gotestscript.T)) { h.guard(func() { f(h) }) }
func (h *host) Log(args ...any)                      { fmt.Fprintln(&h.log, args...) }
func (h *host) Parallel()                            {}
func (h *host) Verbose() bool                        { return false }

func (h *host) FailNow() {
	h.failed = true
	panic(stopped{})
}

func (h *host) Fatal(args ...any) {
	h.Log(args...)
	h.FailNow()
}

// Skip can't be asked for by a story: its verbs know no conditions.
func (h *host) Skip(args ...any) { h.Fatal(args...) }
