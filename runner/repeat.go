package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pugmark.dev/conform/result"
)

// repeatFolder begins the name of the folder, below that of the run, that holds the
// evidence of the second time that cases were played, and so on.
const repeatFolder = "repeat-"

// UnknownSeed is the seed of a [Time] of which it was not kept.
const UnknownSeed = -1

// Time is one of several times that a case was played.
type Time struct {
	// Number counts from 1.
	Number int
	Seed   int64
	Result result.Case
}

// TimeOf is which time evidence is of, by its path below the folder of the run.
func TimeOf(folder string) int {
	rest, ok := strings.CutPrefix(folder, repeatFolder)
	number, _, _ := strings.Cut(rest, "/")
	if n, err := strconv.Atoi(number); ok && err == nil {
		return n
	}
	return 1
}

// Repeated is what several times come to: what each of them says, or, when two
// differ, flaky with the findings of both. They differ when the verdicts do, what any
// check came to, or where it failed; the texts of findings vary with the seed. A time that the harness
// could not judge counts for all, since nothing can be said of the others by it.
//
// It also returns which of the times are told in the result; times must not be empty.
func Repeated(times []Time) (result.Case, []Time) {
	first := times[0]
	for _, t := range times {
		if t.Result.Verdict == result.HarnessError {
			return t.Result, []Time{t}
		}
	}
	i := slices.IndexFunc(times, func(t Time) bool { return differ(first.Result, t.Result) })
	if i < 0 {
		return first.Result, []Time{first}
	}
	bad, other := first, times[i]
	if isGood(bad.Result.Verdict) {
		bad, other = other, bad
	}
	out := bad.Result
	out.Verdict = result.Flaky
	out.DurationMS = 0
	for _, t := range times {
		out.DurationMS += t.Result.DurationMS
	}
	out.Reason = fmt.Sprintf("the case does not end the same way each time: %s; %s", bad.tell(), other.tell())
	out.Checks = both(bad, other)
	return out, []Time{bad, other}
}

func isGood(v result.Verdict) bool { return v == result.Pass || v == result.Warn }

// differ reports whether two results of a case say something else.
func differ(a, b result.Case) bool {
	outcomes := func(c result.Case) map[string]result.Verdict {
		m := map[string]result.Verdict{}
		for _, k := range c.Checks {
			m[k.ID] = k.Verdict
		}
		return m
	}
	x, y := outcomes(a), outcomes(b)
	if a.Verdict != b.Verdict || len(x) != len(y) || !slices.Equal(a.Places(), b.Places()) {
		return true
	}
	for id, v := range x {
		if y[id] != v {
			return true
		}
	}
	return false
}

// tell says how one time ended.
func (t Time) tell() string {
	s := t.name()
	if t.Seed != UnknownSeed {
		s += fmt.Sprintf(" (seed %d)", t.Seed)
	}
	s += " " + string(t.Result.Verdict)
	if t.Result.Reason != "" {
		s += ": " + result.Clip(t.Result.Reason, 240)
	}
	return s
}

func (t Time) name() string { return fmt.Sprintf("time %d", t.Number) }

// both is the checks of one time, each that the other says something else of followed
// by that. Where each was seen says which time it is of.
func both(a, b Time) (checks []result.Check) {
	at := func(k result.Check, t Time) result.Check {
		k.Where = strings.TrimSuffix(t.name()+", "+k.Where, ", ")
		if k.Verdict == result.Pass {
			k.Got = "as wanted"
		}
		return k
	}
	of := map[string]result.Check{}
	for _, k := range b.Result.Checks {
		of[k.ID] = k
	}
	for _, k := range a.Result.Checks {
		o, ok := of[k.ID]
		delete(of, k.ID)
		if ok && o.Verdict == k.Verdict && result.Place(o.Where) == result.Place(k.Where) {
			checks = append(checks, k)
			continue
		}
		checks = append(checks, at(k, a))
		if ok {
			o.ID += "#" + strings.ReplaceAll(b.name(), " ", "-")
			checks = append(checks, at(o, b))
		}
	}
	for _, k := range b.Result.Checks {
		if _, left := of[k.ID]; left {
			checks = append(checks, at(k, b))
		}
	}
	return checks
}

// again plays a case as often as it is to be played, and gives what the times come
// to; first is the first of them.
func (r *run) again(first result.Case, play func(time int) result.Case) result.Case {
	if r.Repeat <= 1 {
		return first
	}
	times := []Time{{1, r.seedOf(1), first}}
	for n := 2; n <= r.Repeat; n++ {
		times = append(times, Time{n, r.seedOf(n), play(n)})
	}
	out, told := Repeated(times)
	for _, t := range times {
		isTold := slices.ContainsFunc(told, func(u Time) bool { return u.Number == t.Number })
		if t.Number > 1 && !isTold && t.Result.Evidence != "" {
			r.mu.Lock()
			r.untold = append(r.untold, t.Result.Evidence)
			r.mu.Unlock()
		}
	}
	return out
}

// seedOf is the seed of the n-th time, from 1.
func (o Options) seedOf(n int) int64 { return o.Seed + int64(n-1) }

// forget removes the evidence that says the same as what is kept, and the folders that
// are empty then.
func (r *run) forget() error {
	for _, folder := range r.untold {
		for dir := filepath.FromSlash(folder); dir != "."; dir = filepath.Dir(dir) {
			remove := os.Remove
			if dir == filepath.FromSlash(folder) {
				remove = os.RemoveAll
			}
			if err := remove(filepath.Join(r.Evidence, dir)); err != nil {
				if dir == filepath.FromSlash(folder) {
					return err
				}
				break // it holds more
			}
		}
	}
	return nil
}
