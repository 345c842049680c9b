package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

// racers are the names of those who take part in each race.
func racers() []string { return []string{"left", "right"} }

// What the racers and their starter say to each other, a line each.
const (
	sayStart = "start" // begin a round
	sayReady = "ready" // about to commit
	sayGo    = "go"    // commit
	sayDone  = "done"  // and how many invocations the round took
)

// race has two runtimes run one session, once in two processes and once in one.
// Both invoke their handlers on the same version and are let go right before they
// commit; so each round one wins and the other has to invoke its handler again.
func (b *bench) race(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, how := range []struct {
		what  string
		start func(folder, name string) (*racing, error)
	}{
		{"two processes", func(folder, name string) (*racing, error) {
			return startProcess(ctx, self, childVerb, "racer", folder, name, strconv.Itoa(b.rounds))
		}},
		{"one process", func(folder, name string) (*racing, error) {
			return startInProcess(ctx, folder, name, b.rounds)
		}},
	} {
		folder := b.sub("race in " + how.what)
		lost, err := b.raceIn(ctx, folder, how.start)
		if err != nil {
			return fmt.Errorf("%s: %w", how.what, err)
		}
		found, err := countRaced(ctx, folder, b.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", how.what, err)
		}
		b.line("%s, %d rounds: %d commits lost and done again, %d entries, holes %d, duplicates %d",
			how.what, b.rounds, lost, found.entries, found.holes, found.duplicates)
		if found.holes+found.duplicates > 0 || lost != b.rounds {
			b.over++
		}
	}
	return nil
}

// racing is a racer as its starter sees it.
type racing struct {
	say  io.WriteCloser
	hear *bufio.Scanner
	// end waits for its end.
	end func() error
}

func (r *racing) tell(word string) error {
	_, err := io.WriteString(r.say, word+"\n")
	return err
}

// expect reads one line, which begins with a word, and returns the rest.
func (r *racing) expect(word string) (string, error) {
	if !r.hear.Scan() {
		return "", errors.Join(r.hear.Err(), fmt.Errorf("a racer ended instead of saying %q", word))
	}
	rest, found := strings.CutPrefix(r.hear.Text(), word)
	if !found {
		return "", fmt.Errorf("a racer said %q instead of %q", r.hear.Text(), word)
	}
	return strings.TrimSpace(rest), nil
}

// raceIn races all rounds and returns how many commits were lost.
func (b *bench) raceIn(ctx context.Context, folder string, start func(folder, name string) (*racing, error)) (lost int, err error) {
	bucket, err := dirbucket.Open(folder)
	if err != nil {
		return 0, err
	}
	defer bucket.Close()
	runtime := &reference.Runtime{Store: &storage.Store{Bucket: bucket}}
	if _, err := runtime.StartSession(ctx, storage.Manifest{Session: benchSession}); err != nil {
		return 0, err
	}
	var all []*racing
	defer func() {
		for _, r := range all {
			err = errors.Join(err, r.say.Close(), r.end())
		}
	}()
	for _, name := range racers() {
		r, err := start(folder, name)
		if err != nil {
			return 0, err
		}
		all = append(all, r)
	}
	for range b.rounds {
		invocations, err := raceOnce(all)
		if err != nil {
			return 0, err
		}
		lost += invocations - len(all)
	}
	return lost, nil
}

// raceOnce races one round and returns how many invocations it took.
func raceOnce(all []*racing) (invocations int, err error) {
	for _, step := range [][2]string{{sayStart, sayReady}, {sayGo, sayDone}} {
		for _, r := range all {
			if err := r.tell(step[0]); err != nil {
				return 0, err
			}
		}
		for _, r := range all {
			rest, err := r.expect(step[1])
			if err != nil {
				return 0, err
			}
			if step[1] == sayDone {
				count, err := strconv.Atoi(rest)
				if err != nil {
					return 0, err
				}
				invocations += count
			}
		}
	}
	return invocations, nil
}

func startProcess(ctx context.Context, command ...string) (*racing, error) {
	process := exec.CommandContext(ctx, command[0], command[1:]...)
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &racing{say: stdin, hear: bufio.NewScanner(stdout), end: process.Wait}, nil
}

func startInProcess(ctx context.Context, folder, name string, rounds int) (*racing, error) {
	stdin, say := io.Pipe()
	hear, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := raceAs(ctx, folder, name, rounds, stdin, stdout)
		_ = stdout.CloseWithError(err)
		ended <- err
	}()
	return &racing{say: say, hear: bufio.NewScanner(hear), end: func() error { return <-ended }}, nil
}

// racer is the process of a racer: its arguments are folder, name and rounds.
func racer(args []string) error {
	if len(args) != 3 {
		return errors.New("a racer needs a folder, a name and a number of rounds")
	}
	rounds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	return raceAs(context.Background(), args[0], args[1], rounds, os.Stdin, os.Stdout)
}

// raceAs races with a runtime and a store of its own.
func raceAs(ctx context.Context, folder, name string, rounds int, in io.Reader, out io.Writer) error {
	bucket, err := dirbucket.Open(folder)
	if err != nil {
		return err
	}
	defer bucket.Close()
	words := bufio.NewScanner(in)
	hear := func() error {
		if !words.Scan() {
			return errors.Join(words.Err(), errors.New("the race ended early"))
		}
		return nil
	}
	barrier := &barrierBucket{Bucket: bucket, wait: func() error {
		if _, err := fmt.Fprintln(out, sayReady); err != nil {
			return err
		}
		return hear()
	}}
	runtime := &reference.Runtime{Store: &storage.Store{Bucket: barrier}}
	for round := range rounds {
		if err := hear(); err != nil {
			return err
		}
		barrier.arm()
		handler := namedEntry{racedName(name, round)}
		result, err := runtime.RunOnce(ctx, benchSession, reference.RunOptions{Handlers: reference.Registry{Default: handler}})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, sayDone, result.Invocations); err != nil {
			return err
		}
	}
	return nil
}

// barrierBucket waits before the first write of a snapshot since it was armed.
type barrierBucket struct {
	storage.Bucket
	wait func() error

	mu    sync.Mutex
	armed bool
}

func (b *barrierBucket) arm() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = true
}

// Put implements [storage.Bucket].
func (b *barrierBucket) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	b.mu.Lock()
	waits := b.armed && strings.Contains(key, "/snapshots/")
	b.armed = b.armed && !waits
	b.mu.Unlock()
	if waits {
		if err := b.wait(); err != nil {
			return err
		}
	}
	return b.Bucket.Put(ctx, key, body)
}

// namedEntry is a handler in process that writes an entry of its name, whatever the
// log holds: what is written twice shall show.
type namedEntry struct{ name string }

func (h namedEntry) Invoke(_ context.Context, in reference.Invocation) error {
	for _, err := range in.Inputs {
		if err != nil {
			return err
		}
	}
	return in.Output(protocol.Record[protocol.Output]{Value: protocol.Output{Name: h.name, Data: []byte(h.name)}})
}

func racedName(name string, round int) string { return fmt.Sprint(name, "-", round) }

// raced is what a race left.
type raced struct{ entries, holes, duplicates int }

// countRaced reads the log: each racer's entry of each round must be there once, and
// versions and sequence numbers must rise by one.
func countRaced(ctx context.Context, folder string, rounds int) (found raced, err error) {
	bucket, err := dirbucket.Open(folder)
	if err != nil {
		return raced{}, err
	}
	defer bucket.Close()
	runtime := &reference.Runtime{Store: &storage.Store{Bucket: bucket}}
	seen := map[string]int{}
	for entry, err := range runtime.Log(ctx, benchSession) {
		if err != nil {
			return raced{}, err
		}
		found.entries++
		if entry.Sequence != int64(found.entries) || entry.Version != int64(found.entries) {
			found.holes++
		}
		seen[entry.Name]++
		if seen[entry.Name] > 1 {
			found.duplicates++
		}
	}
	for _, name := range racers() {
		for round := range rounds {
			if seen[racedName(name, round)] == 0 {
				found.holes++
			}
		}
	}
	return found, nil
}
