package testscript

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/stage"
)

// Verb is one command of a story. It carries its own documentation.
type Verb struct {
	Name string
	// Args is how its arguments are written.
	Args string
	// Doc is one or two sentences.
	Doc string

	min, max int
	act      func(context.Context, *play, stage.At, []string) error
}

// Verbs is every command of a story, in the order in which the documents list
// them. A `!` before a verb that can be refused says that it must be; a `?` before
// a run admits both outcomes, and an expectation says more. An `&` at the end has
// the story go on beside the command, until `join`.
func Verbs() []Verb {
	return []Verb{
		{
			Name: "start", Args: "SESSION [FILE] [&]", min: 1, max: 2, act: start,
			Doc: "Creates the session that the story calls SESSION. FILE is its manifest as YAML: chosen, agent, handler, metadata.",
		},
		{
			Name: "push", Args: "SESSION FILE [&]", min: 2, max: 2, act: push,
			Doc: "Appends an entry from outside. FILE is the entry as YAML: name, body, content-type and so on.",
		},
		{
			Name: "script", Args: "FILE", min: 1, max: 1, act: script,
			Doc: "Says what the scripted handler does from the next run on: a list of operations, or a list of such lists, one for each invocation.",
		},
		{
			Name: "handler", Args: "NAME FILE", min: 2, max: 2, act: handler,
			Doc: "Gives the runs that follow a handler with this name, beside the default one. FILE is what it does; every run begins with its first list.",
		},
		{
			Name: "run-once", Args: "SESSION [FILE] [&]", min: 1, max: 2, act: run(true),
			Doc: "Runs one invocation of the session. FILE is what surrounds the run, as YAML: environment, trace.",
		},
		{
			Name: "run", Args: "SESSION [FILE] [&]", min: 1, max: 2, act: run(false),
			Doc: "Runs the session until it is idle.",
		},
		{
			Name: "await", Args: "POINT [N]", min: 1, max: 2, act: await,
			Doc: "Waits until N handlers (one, if not said) have come to the `wait-for: POINT` of their scripts.",
		},
		{
			Name: "release", Args: "POINT", min: 1, max: 1,
			Doc: "Lets handlers go on that wait for POINT, or will.",
			act: func(_ context.Context, p *play, at stage.At, args []string) error {
				return p.world.Release(at, args[0])
			},
		},
		{
			Name: "join",
			Doc:  "Waits for every command that was started with `&`.",
			act: func(ctx context.Context, p *play, at stage.At, _ []string) error {
				return p.world.Join(ctx, at)
			},
		},
		{
			Name: "kill-runtime", Args: "[DELAY]", max: 1, act: kill,
			Doc: "Kills the runtime DELAY (0s, if not said) from now, by force, with all that it has started: what goes on beside the story ends in the middle. The commands that follow start it anew on the same store, and points that were released hold again.",
		},
		{
			Name: "child", Args: "SESSION SESSION [N]", min: 2, max: 3, act: child,
			Doc: "Gives the first name to the child that the N-th fork record (the first, if not said) in the log of the second session points to.",
		},
		{
			Name: "log", Args: "SESSION", min: 1, max: 1,
			Doc: "Reads the session's log. What it must hold stands in an expect.",
			act: func(ctx context.Context, p *play, at stage.At, args []string) error {
				return p.world.Log(ctx, at, args[0])
			},
		},
		{
			Name: "inspect", Args: "SESSION", min: 1, max: 1,
			Doc: "Reads the session dump; `! inspect` wants a session that does not exist.",
			act: func(ctx context.Context, p *play, at stage.At, args []string) error {
				return p.world.Inspect(ctx, at, args[0])
			},
		},
		{
			Name: "require", Args: "REQUIREMENT", min: 1, max: 1,
			Doc: "Says which requirement the lines that follow prove.",
			act: func(_ context.Context, p *play, at stage.At, args []string) error {
				p.world.Require(at, args[0])
				return nil
			},
		},
		{
			Name: "expect", Args: "FILE", min: 1, max: 1, act: expect,
			Doc: "Judges what happened so far by the blocks of FILE, which have the shape of a YAML case's expect.",
		},
	}
}

func start(ctx context.Context, p *play, at stage.At, args []string) error {
	var s casefile.Start
	if len(args) == 2 {
		var err error
		if s, err = parse(p, args[1], casefile.ParseStart); err != nil {
			return err
		}
	}
	return p.world.Start(ctx, at, args[0], s)
}

func push(ctx context.Context, p *play, at stage.At, args []string) error {
	entry, err := parse(p, args[1], casefile.ParsePush)
	if err != nil {
		return err
	}
	return p.world.Push(ctx, at, args[0], entry)
}

func script(_ context.Context, p *play, at stage.At, args []string) error {
	turns, err := parse(p, args[0], casefile.ParseScript)
	if err != nil {
		return err
	}
	return p.world.Script(at, args[0], turns)
}

func handler(_ context.Context, p *play, at stage.At, args []string) error {
	turns, err := parse(p, args[1], casefile.ParseScript)
	if err != nil {
		return err
	}
	return p.world.Handler(at, args[0], args[1], turns)
}

func run(once bool) func(context.Context, *play, stage.At, []string) error {
	return func(ctx context.Context, p *play, at stage.At, args []string) error {
		how := stage.Run{Once: once}
		if len(args) == 2 {
			var err error
			if how.Around, err = parse(p, args[1], casefile.ParseAround); err != nil {
				return err
			}
		}
		return p.world.Run(ctx, at, args[0], how)
	}
}

func await(ctx context.Context, p *play, at stage.At, args []string) error {
	n, err := count(args[1:])
	if err != nil {
		return err
	}
	return p.world.Await(ctx, at, args[0], n)
}

func child(ctx context.Context, p *play, at stage.At, args []string) error {
	n, err := count(args[2:])
	if err != nil {
		return err
	}
	return p.world.Child(ctx, at, args[0], args[1], n)
}

func kill(ctx context.Context, p *play, at stage.At, args []string) error {
	after := time.Duration(0)
	if len(args) == 1 {
		var err error
		if after, err = time.ParseDuration(args[0]); err != nil {
			return err
		}
	}
	return p.world.Kill(ctx, at, after)
}

// count is an optional number, one when it is not given.
func count(args []string) (int, error) {
	if len(args) == 0 {
		return 1, nil
	}
	return strconv.Atoi(args[0])
}

func expect(ctx context.Context, p *play, at stage.At, args []string) error {
	blocks, ok := p.story.Expects[args[0]]
	if !ok {
		return fmt.Errorf("expect %s: the story has no such file of expectations", args[0])
	}
	return p.world.Expect(ctx, at, args[0], blocks)
}

// parse reads one of the story's files.
func parse[T any](p *play, name string, read func(name string, data []byte) (T, error)) (v T, err error) {
	data, ok := p.story.Files[name]
	if !ok {
		return v, fmt.Errorf("the story has no file %s", name)
	}
	return read(name, data)
}

// Usage renders the table of verbs as Markdown, for CONFORMANCE.md.
func Usage() string {
	var b strings.Builder
	b.WriteString("| verb | does |\n|---|---|\n")
	for _, v := range Verbs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(v.Name+" "+v.Args), v.Doc)
	}
	return b.String()
}
