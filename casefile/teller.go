package casefile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/fakehandler"
)

// teller goes through the script of a story, line by line, without running it.
type teller struct {
	*checker
	doc   *document
	files map[string]*file
	world world
	// cited is the requirements that something was asserted about.
	cited map[string]bool
	// open is the latest require, as long as nothing was asserted after it.
	open *place
	// effort tells that a runtime that does nothing fails the story somewhere.
	effort bool
	any    bool
	// background is the first command that goes on beside the story, nil after `join`.
	background *place
	// points is the points at which scripts wait.
	points []string
}

func (t *teller) tell(script string, first int) {
	for i, text := range strings.Split(script, "\n") {
		words, message := split(text)
		if message != "" {
			t.doc.fault(first+i, 1, "%s", message)
		}
		if len(words) > 0 {
			t.command(first+i, words)
		}
	}
	t.close()
	if t.background != nil {
		t.background.fault("nothing waits for this command: add `join`")
	}
	top := place{t.doc, &yaml.Node{Line: first, Column: 1}}
	switch {
	case !t.any:
		top.fault("the story asserts nothing")
	case !t.effort:
		top.fault("asserts nothing that a runtime that does nothing would fail: add an `expect` of something that it has to do")
	}
	if t.any {
		t.uncited(top, t.cited, "no `require` and no block of an expect file is about it")
	}
	for _, f := range t.files {
		if !f.used {
			t.doc.fault(f.marker, 1, "no command makes use of the file %s", f.name)
		}
	}
}

func (t *teller) command(line int, words []word) {
	at := func(w word) place { return place{t.doc, &yaml.Node{Line: line, Column: w.column}} }
	prefix := words[0].text
	if prefix == "!" || prefix == "?" {
		words = words[1:]
	}
	failure, either := prefix == "!", prefix == "?"
	if len(words) == 0 {
		t.doc.fault(line, 1, "a %s stands before a command", prefix)
		return
	}
	name := words[0]
	all := Verbs()
	i := slices.IndexFunc(all, func(v Verb) bool { return v.Name == name.text })
	switch {
	case strings.HasPrefix(name.text, "["):
		at(name).fault("a condition can leave a check out without a word: stories have none")
		return
	case i < 0:
		var names []string
		for _, v := range all {
			names = append(names, v.Name)
		}
		at(name).fault("unknown command %q%s", name.text, orOneOf(name.text, names))
		return
	case failure && !all[i].Failure:
		at(name).fault("`%s` can't be wanted to fail", name.text)
	case either && !all[i].Either:
		at(name).fault("a ? admits both outcomes of a run: `%s` has one", name.text)
	}
	verb, args := all[i], words[1:]
	if n := len(args); n > 0 && args[n-1].text == "&" && verb.Background {
		args = args[:n-1]
		if t.background == nil {
			spot := at(name)
			t.background = &spot
		}
	}
	if !fits(verb, args) {
		at(name).fault("usage: %s", verb.Usage())
		return
	}
	for i, arg := range args {
		t.argument(verb.Args[i], arg.text, at(arg))
	}
	switch verb.Name {
	case "inspect":
		t.need(at(name), "inspect", "a session dump is a feature of its own")
	case "child":
		t.need(at(name), "log", "the fork record that names the child stands in the log")
	case "join":
		if t.background == nil {
			at(name).fault("no command goes on beside the story")
		}
		t.background = nil
	case "kill-runtime":
		t.c.Story.Kills = true
		t.background = nil // what went on beside the story ends
	}
	if verb.Asserts && !either || failure {
		t.asserted(verb, failure)
	}
}

// fits reports whether there are as many arguments as the verb takes.
func fits(v Verb, args []word) bool {
	least := slices.IndexFunc(v.Args, Shape.isOptional)
	if least < 0 {
		least = len(v.Args)
	}
	return len(args) >= least && len(args) <= len(v.Args)
}

// argument checks one argument against its shape.
func (t *teller) argument(shape Shape, text string, at place) {
	switch shape {
	case NewSession:
		if !isName(text) {
			at.fault("%q: a session's name is lower-case letters, digits and hyphens", text)
		}
		if "{"+text+"}" == Nonce {
			at.fault("%s is a text that varies, and no session", Nonce)
			return
		}
		// A name may come twice: to start what exists is an operation too.
		t.world.names = append(t.world.names, text)
	case SessionName:
		t.world.name(at, text)
	case RequirementID:
		t.close()
		if !slices.Contains(t.c.Covers, text) {
			at.fault("%s is not in `covers`%s", text, meant(text, t.c.Covers))
		}
		t.world.requirement, t.open = text, &at
	case HandlerName:
		t.handlerName(at, text)
	case PointName:
		if !slices.Contains(t.points, text) {
			at.fault("no script waits for %q%s", text, meant(text, t.points))
		}
	case Count:
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 1000 {
			at.fault("%q: want a number from 1 to 1000", text)
		}
	case Delay:
		if d, err := time.ParseDuration(text); err != nil || d < 0 || d > time.Minute {
			at.fault("%q: want a duration from 0s to 1m, as 5ms", text)
		}
	default:
		if f := t.file(at, text); f != nil {
			t.read(shape, f)
		}
	}
}

// read checks a file in the place where it is used.
func (t *teller) read(shape Shape, f *file) {
	switch shape {
	case StartFile:
		if s, root := fileOf[Start](f.doc, t.shapes, f.data); root != nil {
			t.start(place{f.doc, root}, s)
		}
	case PushFile:
		if p, root := fileOf[Push](f.doc, t.shapes, f.data); root != nil {
			push(place{f.doc, root}, p)
		}
	case AroundFile:
		if a, root := fileOf[Around](f.doc, t.shapes, f.data); root != nil {
			t.around(place{f.doc, root}, a)
		}
	case ScriptFile:
		t.scriptFile(f)
	case ExpectFile:
		t.expectFile(f)
	}
}

// asserted notes that a command checks what was last required.
func (t *teller) asserted(v Verb, failure bool) {
	t.open, t.any = nil, true
	if v.Name != "expect" {
		t.cited[t.about()] = true
		// Nothing but a failure, a session's dump or a fork's record tells a runtime
		// that does nothing from one that works; what is expected of it, expect files
		// say.
		t.effort = t.effort || failure && v.Name != "inspect" || !failure && (v.Name == "inspect" || v.Name == "child")
	}
}

// about is the requirement that a command is a check of.
func (t *teller) about() string {
	if t.world.requirement == "" {
		return t.sole("")
	}
	return t.world.requirement
}

// close complains of a requirement that nothing was asserted about.
func (t *teller) close() {
	if t.open != nil {
		t.open.fault("nothing is asserted after this `require`")
	}
	t.open = nil
}

func (t *teller) file(at place, name string) *file {
	f, ok := t.files[name]
	if !ok {
		var names []string
		for n := range t.files {
			names = append(names, n)
		}
		slices.Sort(names)
		at.fault("the story has no file %s%s", name, meant(name, names))
		return nil
	}
	f.used = true
	return f
}

func (t *teller) scriptFile(f *file) {
	turns, root := turnsOf(f.doc, t.shapes, f.data)
	if root == nil {
		return
	}
	for i, turn := range turns {
		t.world.plays(t.checker, place{f.doc, root}.item(i), turn)
		for _, op := range turn {
			if op.WaitFor != "" {
				t.points = append(t.points, op.WaitFor)
			}
			if op.Emit == nil {
				continue
			}
			if name, ok := fakehandler.FileOf(op.Emit.URI); ok {
				t.file(place{f.doc, root}.item(i), name)
				t.need(place{f.doc, root}.item(i), "uri", "fetching a `uri` is a feature of its own")
			}
		}
	}
}

// expectFile checks the blocks of a file where it is used: the same file can be
// used after another require.
func (t *teller) expectFile(f *file) {
	root := f.doc.parse(f.data)
	if root == nil {
		return
	}
	if root.Kind == yaml.MappingNode {
		root = listWith(root)
	}
	blocks, ok := decode[[]RuntimeExpect](f.doc, t.shapes, root, walker{})
	if !ok {
		return
	}
	t.c.Story.Expects[f.name] = blocks
	for i, e := range blocks {
		t.cited[t.runtimeExpect(place{f.doc, root}.item(i), e, t.world)] = true
		t.effort = t.effort || e.asksForEffort()
	}
}
