package mutants

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/process"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/stage"
)

// Options is what the cases are tried on. Registry, Cases, Handler and Fake are
// needed.
type Options struct {
	Registry *spec.Spec
	// Cases is every case there is.
	Cases []*casefile.Case
	// Mutants, Twins and Idlers is who is run; with none of them it is all.
	Mutants []Mutant
	Twins   []Twin
	Idlers  []Idler
	// Handler is the command that calls [Main] with the ID that is appended to it.
	Handler []string
	// Fake is how a runtime starts the scripted handler.
	Fake stage.Fake
	// Programs is the set that processes are started in.
	Programs *process.Set
	// Parallel is how many subjects are run at the same time; zero is twice the
	// number of processors.
	Parallel int
	// Seed and TimeScale are those of [runner.Options].
	Seed      int64
	TimeScale float64
	// Full runs every case of its kind on every transport with each mutant and twin.
	// Else a mutant is run with the cases that cover its requirement, each on the
	// transport that costs least, and on the others only when none of them catches
	// it; a twin, and an idle runtime, is run with every case on one transport, which
	// changes from case to case.
	Full bool
	// Share runs a twin with one case in so many, and other twins with the others;
	// zero and one is all.
	Share int
	// Known is which mutant failed which case before: these are run first, and when
	// they hold, nothing else is. It makes a run shorter, never greener: what is
	// written there is not believed but tried. With Full it is not looked at.
	Known []Failure
	// Search runs every case that no mutant has failed with all the mutants of its
	// kind, until one fails it.
	Search bool
}

// Kill runs the cases on mutants, twins and idlers and returns what came of it, in
// the order of [All], [Twins] and [Idlers]. The error is a fault of the harness.
func Kill(ctx context.Context, o Options) (*Matrix, error) {
	if len(o.Mutants)+len(o.Twins)+len(o.Idlers) == 0 {
		o.Mutants, o.Twins, o.Idlers = All(), Twins(), Idlers()
	}
	k := &killer{Options: o, failed: map[string]bool{}, known: map[string][]Failure{}}
	for _, f := range o.Known {
		k.known[f.Mutant] = append(k.known[f.Mutant], f)
	}
	m := &Matrix{
		Mutants: make([]Row, len(o.Mutants)), Twins: make([]Outcome, len(o.Twins)), Idlers: make([]Outcome, len(o.Idlers)),
		Cases: len(o.Cases), Unfailed: []string{},
	}
	var tasks []func() error
	for i, mutant := range o.Mutants {
		tasks = append(tasks, func() (err error) { m.Mutants[i], err = k.mutant(ctx, mutant); return })
	}
	for i, twin := range o.Twins {
		tasks = append(tasks, func() (err error) { m.Twins[i], err = k.twin(ctx, i, twin); return })
	}
	for i, idler := range o.Idlers {
		tasks = append(tasks, func() (err error) { m.Idlers[i], err = k.idler(ctx, i, idler); return })
	}
	if err := inParallel(o.Parallel, tasks); err != nil {
		return nil, err
	}
	if err := k.again(ctx, m); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if o.Search {
		if err := k.search(ctx); err != nil {
			return nil, err
		}
	}
	m.Failures = k.failures
	slices.SortFunc(m.Failures, Failure.compare)
	m.Failures = slices.Compact(m.Failures)
	if len(o.Mutants) >= len(All()) {
		for _, c := range k.unfailed("") {
			m.Unfailed = append(m.Unfailed, c.ID)
		}
	}
	slices.Sort(m.Unfailed)
	return m, nil
}

// inParallel does the tasks and returns the first error in their order.
func inParallel(parallel int, tasks []func() error) error {
	if parallel <= 0 {
		parallel = 2 * runtime.GOMAXPROCS(0)
	}
	queue := make(chan int)
	errs := make([]error, len(tasks))
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range queue {
				errs[i] = tasks[i]()
			}
		})
	}
	for i := range tasks {
		queue <- i
	}
	close(queue)
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// killer is a [Kill] under way.
type killer struct {
	Options
	// known is what is known of each mutant.
	known map[string][]Failure
	mu    sync.Mutex
	// failed is the cases of which a check of their own failed on some mutant, and
	// failures on which, in the order in which it happened.
	failed   map[string]bool
	failures []Failure
}

// canFail reports whether a case covers something that can be failed: a MAY can't.
func (k *killer) canFail(c *casefile.Case) bool {
	return slices.ContainsFunc(c.Covers, func(id string) bool {
		r, ok := k.Registry.Requirement(id)
		return ok && r.Level != spec.LevelMay
	})
}

// mutant runs a mutant until a case has caught it.
func (k *killer) mutant(ctx context.Context, m Mutant) (Row, error) {
	requirement, ok := k.Registry.Requirement(m.Requirement)
	if !ok {
		return Row{}, fmt.Errorf("mutant %s: the requirement %q is not in the registry", m.ID, m.Requirement)
	}
	row := Row{ID: m.ID, Kind: m.Kind(), Requirement: m.Requirement, Level: string(requirement.Level), Sentence: m.Sentence, Caught: []Catch{}}
	under := k.subject(m)
	cases := k.kind(row.Kind)
	covering := slices.DeleteFunc(slices.Clone(cases), func(c *casefile.Case) bool { return !slices.Contains(c.Covers, m.Requirement) })
	row.Covered = len(covering) > 0
	if row.Covered && !k.Full {
		cases = covering
	}
	offered := orAll(m.Transports)
	rounds := []plan{k.knownOf(m.ID), cheapest(cases, offered), others(cases, offered)}
	if k.Full {
		rounds = []plan{everywhere(cases, offered)}
	}
	wanted := result.Fail
	if !requirement.IsMandatory() {
		wanted = result.Warn
	}
	for _, round := range rounds {
		results, err := k.run(ctx, under, round.withBaseline(under, k.Cases), k.Cases)
		if err != nil {
			return row, fmt.Errorf("mutant %s: %w", m.ID, err)
		}
		row.Results += len(results)
		for _, c := range results {
			k.note(m.ID, c)
			row.Caught = append(row.Caught, catches(c, m.Requirement, wanted)...)
		}
		if len(row.Caught) > 0 {
			break
		}
	}
	return row, nil
}

// again tries once more, one at a time, what is known of a mutant that nothing caught
// and of a case that nothing failed. A case that kills a runtime has to meet the moment
// at which it is wrong, and a busy machine moves that.
func (k *killer) again(ctx context.Context, m *Matrix) error {
	const tries = 2
	for range tries {
		unfailed := map[string]bool{}
		for _, c := range k.unfailed("") {
			unfailed[c.ID] = true
		}
		for i, mutant := range k.Mutants {
			missed := slices.ContainsFunc(k.known[mutant.ID], func(f Failure) bool { return unfailed[f.Case] })
			if !missed && (len(m.Mutants[i].Caught) > 0 || len(k.known[mutant.ID]) == 0) {
				continue
			}
			row, err := k.mutant(ctx, mutant)
			if err != nil {
				return err
			}
			if len(row.Caught) > 0 {
				m.Mutants[i] = row
			}
		}
	}
	return nil
}

// note remembers a case that a check of its own was failed in.
func (k *killer) note(mutant string, c result.Case) {
	if !isJudged(c) {
		return
	}
	for _, check := range c.Checks {
		if (check.Verdict == result.Fail || check.Verdict == result.Warn) && !isAmbient(check) {
			k.mu.Lock()
			k.failed[c.ID] = true
			k.failures = append(k.failures, Failure{Mutant: mutant, Case: c.ID, Transport: c.Transport})
			k.mu.Unlock()
			return
		}
	}
}

// unfailed is the cases of a kind, or of both, that could be failed and were not.
func (k *killer) unfailed(kind string) (list []*casefile.Case) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.Cases {
		if (kind == "" || c.Kind == kind) && k.canFail(c) && !k.failed[c.ID] {
			list = append(list, c)
		}
	}
	return list
}

// search runs the cases that no mutant has failed with each mutant in turn.
func (k *killer) search(ctx context.Context) error {
	var tasks []func() error
	for _, m := range k.Mutants {
		tasks = append(tasks, func() error {
			under, offered := k.subject(m), orAll(m.Transports)
			for _, round := range []func([]*casefile.Case, []string) plan{cheapest, others} {
				results, err := k.run(ctx, under, round(k.unfailed(m.Kind()), offered).withBaseline(under, k.Cases), k.Cases)
				if err != nil {
					return fmt.Errorf("mutant %s: %w", m.ID, err)
				}
				for _, c := range results {
					k.note(m.ID, c)
				}
			}
			return nil
		})
	}
	return inParallel(k.Parallel, tasks)
}

// twin runs a twin with every case of its kind.
func (k *killer) twin(ctx context.Context, number int, t Twin) (Outcome, error) {
	out := Outcome{ID: t.ID, Kind: t.Kind(), Sentence: t.Sentence, Complaints: []Complaint{}}
	restsOn := func(c *casefile.Case) bool {
		return slices.ContainsFunc(t.Without, func(id string) bool { return slices.Contains(c.Readings, id) })
	}
	cases, offered := slices.DeleteFunc(k.share(k.kind(out.Kind), number), restsOn), orAll(t.Transports)
	if len(t.Features) > 0 {
		cases = claimable(cases, t.Features)
	}
	where := rotating(cases, offered, number)
	if k.Full {
		where = everywhere(cases, offered)
	}
	under := k.subject(Mutant{ID: t.ID, Handler: t.Handler, Runtime: t.Runtime, Transports: t.Transports, Features: t.Features})
	results, err := k.run(ctx, under, where, k.Cases)
	if err != nil {
		return out, fmt.Errorf("twin %s: %w", t.ID, err)
	}
	for _, c := range results {
		out.Complaints = append(out.Complaints, accusations(c)...)
	}
	return out.finish(results), nil
}

// share is the cases that fall to the twin with this number.
func (k *killer) share(cases []*casefile.Case, number int) (kept []*casefile.Case) {
	for i, c := range cases {
		if k.Share <= 1 || (i+number)%k.Share == 0 {
			kept = append(kept, c)
		}
	}
	return kept
}

// idler runs an idler with every case of its kind, each without the premise of the
// baseline: no case may lean on another to see that nothing happens.
func (k *killer) idler(ctx context.Context, number int, i Idler) (Outcome, error) {
	out := Outcome{ID: i.ID, Kind: i.Kind(), Sentence: i.Sentence, Complaints: []Complaint{}}
	under := runner.Subject{Name: i.ID}
	var offered []string
	if i.Runtime != nil {
		under.Runtime = &runner.RuntimeSide{
			RuntimeSubject: stage.RuntimeSubject{Name: i.ID, Ops: i.Runtime}, Features: (&stage.Reference{}).Features(),
		}
		offered = orAll(nil)
	} else {
		under.Handler = &runner.HandlerSide{HandlerSubject: stage.HandlerSubject{Name: i.ID}, Features: handlerFeatures()}
		if i.Program != nil {
			under.Handler.Subprocess = k.command(i.ID)
			offered = append(offered, protocol.TransportSubprocess)
		}
		if i.Service != nil {
			under.Handler.Served = i.Service
			offered = append(offered, protocol.TransportHTTP)
		}
	}
	var results []result.Case
	isBaseline := func(c *casefile.Case) bool { return c.ID == runner.Baseline }
	isOther := func(c *casefile.Case) bool { return c.ID != runner.Baseline }
	first, err := k.run(ctx, under, everywhere(slices.DeleteFunc(k.kind(out.Kind), isOther), offered), k.Cases)
	if err == nil {
		cases := slices.DeleteFunc(k.kind(out.Kind), isBaseline)
		where := everywhere(cases, offered)
		if i.Runtime != nil && !k.Full { // what starts no handler is the same on every transport
			where = rotating(cases, offered, number)
		}
		results, err = k.run(ctx, under, where, nil)
	}
	results = append(first, results...)
	if err != nil {
		return out, fmt.Errorf("idler %s: %w", i.ID, err)
	}
	for _, c := range results {
		out.Complaints = append(out.Complaints, passes(c)...)
	}
	done := &result.Run{Subject: under.Describe(), Cases: results, Complete: true}
	coverage.Complete(done, k.Registry, k.Cases)
	out.Verdict = done.Verdict
	return out.finish(results), nil
}

// casesInParallel is how many cases of one subject run at the same time.
const casesInParallel = 2

// run is the run that a user would do. The baseline decides whether the other cases
// can be judged, if it is among all.
func (k *killer) run(ctx context.Context, under runner.Subject, p plan, all []*casefile.Case) (results []result.Case, err error) {
	for _, t := range byCost() {
		if len(p[t]) == 0 {
			continue
		}
		here, err := runner.Run(ctx, runner.Options{
			Registry: k.Registry, Cases: p[t], All: all, Subject: under, Transports: []string{t},
			Fake: k.Fake, Programs: k.Programs, Parallel: casesInParallel, Seed: k.Seed, TimeScale: k.TimeScale,
		})
		if err != nil {
			return nil, err
		}
		results = append(results, here...)
	}
	return results, nil
}
