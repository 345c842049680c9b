package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		os.Exit(child(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// bench is what the benchmarks share.
type bench struct {
	sizes
	// folder is for everything that is written.
	folder string
	// ref is the program pugmark-ref.
	ref string
	out io.Writer
	// over counts the lines that are over their limits.
	over int
}

// sizes are how much is measured.
type sizes struct {
	// entries is the length of the longer replayed log; the shorter has a tenth.
	entries int
	// body is the size of the large body in bytes.
	body int64
	// earlier is the largest number of earlier invocations.
	earlier int
	// runs is how often an invocation of a Python handler is measured.
	runs int
	// rounds is how often two runtimes race.
	rounds int
}

// benchmark is one of the things that can be measured.
type benchmark struct {
	name string
	what string
	run  func(*bench, context.Context) error
}

func benchmarks() []benchmark {
	return []benchmark{
		{"replay", "how fast and in how much memory a long log is replayed", (*bench).replay},
		{"bodies", "in how much memory a large body goes in and out", (*bench).bodies},
		{"growth", "what an invocation costs after how many others", (*bench).growth},
		{"invocation", "what a Python handler's invocation costs beside the handler", (*bench).invocation},
		{"race", "whether two runtimes at one session lose anything", (*bench).race},
	}
}

// run is the program: it returns the exit status.
func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	b := &bench{out: out}
	chosen, err := b.parse(args, diagnostics)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		err = b.runAll(ctx, chosen)
	}
	switch {
	case err != nil:
		fmt.Fprintf(diagnostics, "bench: %v\n", err)
		return 2
	case b.over > 0:
		return 1
	}
	return 0
}

func (b *bench) parse(args []string, diagnostics io.Writer) ([]benchmark, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	flags.IntVar(&b.entries, "entries", 100_000, "entries of the longer replayed log")
	flags.Int64Var(&b.body, "body", 1<<30, "bytes of the large body")
	flags.IntVar(&b.earlier, "earlier", 1600, "largest number of earlier invocations")
	flags.IntVar(&b.runs, "runs", 40, "invocations of the Python handler")
	flags.IntVar(&b.rounds, "rounds", 500, "rounds of each race")
	flags.Usage = func() {
		fmt.Fprintf(diagnostics, "usage: bench [flags] [NAME...]\n\n")
		for _, m := range benchmarks() {
			fmt.Fprintf(diagnostics, "  %-11s %s\n", m.name, m.what)
		}
		fmt.Fprintln(diagnostics)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	all := benchmarks()
	if flags.NArg() == 0 {
		return all, nil
	}
	var chosen []benchmark
	for _, name := range flags.Args() {
		at := slices.IndexFunc(all, func(m benchmark) bool { return m.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no benchmark %q", name)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

func (b *bench) runAll(ctx context.Context, chosen []benchmark) error {
	folder, err := os.MkdirTemp("", "pugmark-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b.folder = folder
	for _, m := range chosen {
		fmt.Fprintf(b.out, "%s: %s\n", m.name, m.what)
		if err := m.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// program builds pugmark-ref, once.
func (b *bench) program(ctx context.Context) (string, error) {
	if b.ref != "" {
		return b.ref, nil
	}
	ref := filepath.Join(b.folder, "pugmark-ref")
	build := exec.CommandContext(ctx, "go", "build", "-o", ref, "pugmark.dev/conform/cmd/pugmark-ref")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building pugmark-ref: %w\n%s", err, text)
	}
	b.ref = ref
	return ref, nil
}

// sub is a new folder of the bench's own.
func (b *bench) sub(name string) string { return filepath.Join(b.folder, name) }

// line prints one result.
func (b *bench) line(format string, args ...any) { fmt.Fprintf(b.out, "  "+format+"\n", args...) }

// limited prints a value that has a limit, and counts it if it is over.
func (b *bench) limited(what string, value, limit float64, unit string) {
	verdict := "within"
	if value > limit {
		verdict = "OVER"
		b.over++
	}
	b.line("%-52s %8.2f %-4s %s the limit of %s", what, value, unit, verdict,
		strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", limit), "0"), "."))
}
