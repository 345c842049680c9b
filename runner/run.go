package runner

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/testscript"
)

// Baseline is the case that shows that a handler follows the agreement at all. It
// is the premise of every case that needs instructions: a handler that fails it is
// not accused of anything that the other cases are about.
const Baseline = "handler/agreement/observe"

// PremiseFailed begins the reason of a case that was not played since [Baseline] does
// not hold.
const PremiseFailed = "the premise of this case"

// readyTime is how long a service may take until it accepts connections.
const readyTime = 10 * time.Second

// Options is a run. Registry, Cases, All and Subject are needed.
type Options struct {
	Registry *spec.Spec
	// Cases is what was chosen, All every case there is: the baseline is played
	// even when it was not chosen.
	Cases, All []*casefile.Case
	Subject    Subject
	// Transports keeps only these; empty keeps all that the subject offers.
	Transports []string
	// Only keeps only these results; empty keeps all. Shard keeps a part of what is left.
	Only  []Key
	Shard Shard
	// Repeat is how often each case is played, each time with another seed; zero is once.
	Repeat int
	// Known is what failures are known; nil knows none. Mask takes secrets out of all that
	// is kept and told; nil takes none.
	Known *Known
	Mask  *result.Mask
	// Fake is how a runtime starts the scripted handler.
	Fake stage.Fake
	// Programs is the set that handler processes are started in.
	Programs *process.Set
	// Parallel is how many cases run at the same time; zero is twice the number
	// of processors, since most of a case is waiting.
	Parallel int
	// Seed makes session IDs, what instructions call their case, and what stands in
	// the place of [casefile.Nonce]; TimeScale multiplies time limits, zero is 1.
	Seed      int64
	TimeScale float64
	// Evidence is the folder that evidence is written to; empty writes none.
	Evidence string
	// Rerun is the command that runs one case again with a seed.
	Rerun func(c *casefile.Case, transport string, seed int64) string
	// Watch is told what happens; nil is told nothing.
	Watch Watcher
}

// Watcher is told of a run as it happens, one call at a time.
type Watcher interface {
	// Begin says how many cases there will be, each transport counted.
	Begin(total int)
	Started(id, transport string)
	Finished(result.Case)
}

// job is one case on one transport, and where its result goes.
type job struct {
	c         *casefile.Case
	transport string
	result    result.Case
	done      bool
}

type run struct {
	Options
	judge   *judge.Judge
	pool    *stage.Pool
	scratch string

	mu        sync.Mutex
	baselines map[string]*baseline
	// untold is the evidence that says the same as other evidence.
	untold []string
}

// baseline is the outcome of the baseline case on one transport, played once.
type baseline struct {
	once   sync.Once
	result result.Case
}

// Run stages and judges the chosen cases. The results are in the order of case ID
// and transport. When ctx ends, the cases under way are ended, and those that were
// not finished are not-run. The error is a fault of the harness.
func Run(ctx context.Context, o Options) (results []result.Case, err error) {
	scratch, err := os.MkdirTemp("", "pugmark-conform-")
	if err != nil {
		return nil, err
	}
	r := &run{
		Options: o, judge: judge.New(o.Registry),
		pool:    &stage.Pool{Programs: o.Programs, Ready: o.scaled(readyTime)},
		scratch: scratch, baselines: map[string]*baseline{},
	}
	defer func() {
		r.pool.Close()
		if rm := removeAll(scratch); err == nil && rm != nil {
			err = rm
		}
	}()
	jobs := r.plan()
	if o.Watch != nil {
		o.Watch.Begin(len(jobs))
	}
	queue := make(chan *job)
	var workers sync.WaitGroup
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = 2 * runtime.GOMAXPROCS(0)
	}
	for range parallel {
		workers.Go(func() {
			for j := range queue {
				if ctx.Err() == nil {
					r.do(ctx, j)
				}
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	workers.Wait()
	for _, j := range jobs {
		if !j.done {
			j.result = notRun(j.c, j.transport, "the run was interrupted before this case")
		}
		results = append(results, j.result)
	}
	return results, r.forget()
}

// plan is every chosen case on every transport, in the order of the report.
func (r *run) plan() (jobs []*job) {
	for _, c := range r.Cases {
		offered := r.Subject.transports(c.Kind)
		if len(r.Transports) > 0 {
			offered = unique(offered, r.Transports)
		}
		var here []*job
		for _, t := range offered {
			if c.Supports(t) {
				here = append(here, &job{c: c, transport: t})
			}
		}
		if len(here) == 0 && len(r.Transports) == 0 {
			t := strings.Join(c.Transports, ", ")
			here = append(here, &job{c: c, transport: c.Transports[0], done: true, result: result.Case{
				ID: c.ID, Transport: c.Transports[0], Why: c.Why, Verdict: result.NotApplicable, Checks: []result.Check{},
				Reason: fmt.Sprintf("the case is about %s, which the subject does not offer", t),
			}})
		}
		jobs = append(jobs, here...)
	}
	slices.SortStableFunc(jobs, func(a, b *job) int {
		return strings.Compare(a.c.ID+"\x00"+a.transport, b.c.ID+"\x00"+b.transport)
	})
	return r.kept(jobs)
}

// do brings one job to its result.
func (r *run) do(ctx context.Context, j *job) {
	if j.done {
		r.finished(&j.result)
		return
	}
	if r.Watch != nil {
		r.mu.Lock()
		r.Watch.Started(j.c.ID, j.transport)
		r.mu.Unlock()
	}
	play := func(time int) result.Case { return r.play(ctx, j.c, j.transport, time) }
	switch missing := r.missing(j.c, j.transport); {
	case missing != nil:
		j.result = *missing
		j.result.Transport = j.transport
	case j.c.ID == Baseline:
		j.result = r.again(r.baseline(ctx, j.transport).result, play)
	case slices.Contains(j.c.Needs, "instructions"):
		if b := r.baseline(ctx, j.transport); !holds(b.result) {
			reason := fmt.Sprintf("%s, %s, ended in %s", PremiseFailed, Baseline, b.result.Verdict)
			if b.result.Reason != "" {
				reason += ": " + b.result.Reason
			}
			j.result = notTestable(j.c, j.transport, reason)
			break
		}
		j.result = r.again(play(1), play)
	default:
		j.result = r.again(play(1), play)
	}
	if ctx.Err() != nil {
		return // what an interrupted case showed says nothing
	}
	j.done = true
	r.finished(&j.result)
}

// finished holds a result against what is known, and tells of it.
func (r *run) finished(c *result.Case) {
	r.Known.Hold(c)
	if r.Watch == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Watch.Finished(*c)
}

// baseline plays the baseline case on a transport, or returns what it gave.
func (r *run) baseline(ctx context.Context, transport string) *baseline {
	r.mu.Lock()
	b := r.baselines[transport]
	if b == nil {
		b = &baseline{}
		r.baselines[transport] = b
	}
	r.mu.Unlock()
	b.once.Do(func() {
		i := slices.IndexFunc(r.All, func(c *casefile.Case) bool { return c.ID == Baseline })
		if i < 0 {
			// A folder of someone's own cases need not have one.
			b.result = result.Case{Verdict: result.Pass}
			return
		}
		b.result = r.play(ctx, r.All[i], transport, 1)
	})
	return b
}

// always begins the IDs of those checks that the judge adds to a case when a rule
// that holds in every case was broken.
const always = "always/"

// holds reports whether a premise is met: what its case is about was seen. A rule of
// every case that was broken beside it stands in the report already, and keeps no
// other case from being judged.
func holds(c result.Case) bool {
	return c.Verdict == result.Pass || c.Verdict == result.Warn || c.Verdict == result.Fail &&
		!slices.ContainsFunc(c.Checks, func(k result.Check) bool {
			return k.Verdict != result.Pass && k.Verdict != result.Warn && !strings.HasPrefix(k.ID, always)
		})
}

// scaled is a time limit on the machine of this run.
func (o Options) scaled(limit time.Duration) time.Duration {
	if o.TimeScale == 0 {
		return limit
	}
	return time.Duration(float64(limit) * o.TimeScale)
}

// missing is the result of a case that needs what the subject does not claim, or
// does not have, or nil.
func (r *run) missing(c *casefile.Case, transport string) *result.Case {
	if c.Handler != nil && len(c.Handler.Environment) > 0 && transport == protocol.TransportHTTP && r.Subject.isForeignService() {
		out := notTestable(c, "", "the case starts the handler with variables, and this service is started by someone else")
		out.Verdict = result.NotApplicable
		return &out
	}
	claimed := r.Subject.features(c.Kind)
	for _, need := range c.Needs {
		if slices.Contains(claimed, need) {
			continue
		}
		reason := fmt.Sprintf("the case needs the feature %s, which the subject does not claim", need)
		out := notTestable(c, "", reason)
		if !demanded(c.Kind, need) {
			out.Verdict = result.NotApplicable
		}
		return &out
	}
	return nil
}

// demanded reports whether a subject that does not claim a feature leaves
// something untested that it had to show; the others may be declared away.
func demanded(kind, feature string) bool {
	if kind == casefile.KindHandler {
		return feature == "instructions"
	}
	return !slices.Contains([]string{"rpc", "http", "named-handlers", "inspect"}, feature)
}

// play stages and judges one case, for the n-th time, from 1.
func (r *run) play(ctx context.Context, c *casefile.Case, transport string, n int) result.Case {
	started := time.Now()
	seed := r.seedOf(n)
	s := seedsOf(seed, c, transport)
	j := stage.Job{
		Case: c.WithNonce(s.nonce), Told: s.told, Transport: transport, Features: r.Subject.features(c.Kind), Fake: r.Fake, Pool: r.pool,
		Story: testscript.Play, Seed: seed, TimeScale: r.TimeScale, Scratch: r.scratch,
	}
	if r.Subject.Handler != nil && c.Kind == casefile.KindHandler {
		j.Handler = &r.Subject.Handler.HandlerSubject
	}
	if r.Subject.Runtime != nil && c.Kind == casefile.KindRuntime {
		j.Runtime = &r.Subject.Runtime.RuntimeSubject
	}
	evidence := stage.Stage(ctx, j)
	evidence.Nonce, evidence.CaseDigest = s.nonce, c.Digest
	out, evidence := r.disclosed(c, evidence)
	out.DurationMS = time.Since(started).Milliseconds()
	if r.Rerun != nil {
		out.Rerun = r.Mask.Text(r.Rerun(c, transport, seed))
	}
	if r.Evidence != "" && ctx.Err() == nil {
		root, below := r.Evidence, ""
		if n > 1 {
			below = fmt.Sprintf("%s%d", repeatFolder, n)
			root = filepath.Join(root, below)
		}
		where, err := result.WriteEvidence(root, evidence, &out)
		if err != nil {
			out.Verdict, out.Reason = result.HarnessError, "the evidence could not be written: "+err.Error()
		}
		out.Evidence = path.Join(below, where)
	}
	return out
}

func notRun(c *casefile.Case, transport, reason string) result.Case {
	out := notTestable(c, transport, reason)
	out.Verdict = result.NotRun
	return out
}

func notTestable(c *casefile.Case, transport, reason string) result.Case {
	out := result.Case{ID: c.ID, Transport: transport, Why: c.Why, Verdict: result.NotTestable, Reason: reason}
	for _, id := range c.Covers {
		out.Checks = append(out.Checks, result.Check{ID: id, Requirement: id, Readings: c.Readings, Verdict: result.NotRun})
	}
	return out
}

// removeAll removes the scratch folder, also where a subject left folders that
// can't be entered.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
