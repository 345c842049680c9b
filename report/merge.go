package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/result"
)

// Shard is one part of a run that was split, and where it lies.
type Shard struct {
	Run *result.Run
	// Name is what errors call it: the path of its report.
	Name string
	// Evidence is the folder that the evidence of its cases is below.
	Evidence string
}

// Merge puts the shards of one run together: every one of them, each once, in any
// order, of the same suite, subject, choice, platform, seed and repeat. The run that it
// returns is, times aside, that of a run that was not split: it began with the first
// shard, and lasted as long as all of them together.
func Merge(shards []Shard) (*result.Run, error) {
	if len(shards) == 0 {
		return nil, errors.New("there is no report to merge")
	}
	if err := whole(shards); err != nil {
		return nil, err
	}
	first := shards[0].Run
	for _, s := range shards[1:] {
		if err := sameRun(shards[0], s); err != nil {
			return nil, err
		}
	}
	r := *first
	r.Selection.Shard = "1/1"
	r.Command = withoutShard(first.Command)
	r.DurationMS, r.Cases = 0, nil
	r.Requirements = slices.Clone(first.Requirements)
	seen := map[resultKey]string{}
	for _, s := range shards {
		r.DurationMS += s.Run.DurationMS
		r.Started = earlier(r.Started, s.Run.Started)
		for _, c := range s.Run.Cases {
			key := resultKey{c.ID, c.Transport}
			if before, twice := seen[key]; twice {
				return nil, fmt.Errorf("%s and %s both have %s on %s: they are no shards of one run", before, s.Name, clean(c.ID), clean(c.Transport))
			}
			seen[key] = s.Name
			r.Cases = append(r.Cases, c)
		}
	}
	if err := mergeRequirements(&r, shards); err != nil {
		return nil, err
	}
	var known []*result.Excuses
	r.Masked = nil
	for _, s := range shards {
		known = append(known, s.Run.Known)
		r.Masked = append(r.Masked, s.Run.Masked...)
	}
	slices.Sort(r.Masked)
	r.Masked = slices.Compact(r.Masked)
	var err error
	if r.Known, err = result.MergeExcuses(known); err != nil {
		return nil, err
	}
	r.Totals = coverage.Totals(r.Cases)
	r.Verdict = coverage.Verdict(&r)
	return ordered(&r), nil
}

// whole is an error unless the shards are all of a run, each once.
func whole(shards []Shard) error {
	total := 0
	by := map[int]string{}
	for _, s := range shards {
		i, n, err := shardOf(s.Run.Selection.Shard)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", s.Name, err)
		case n == 1:
			return fmt.Errorf("%s is of a run that was not split (shard 1/1), so there is nothing to merge", s.Name)
		case total == 0:
			total = n
		case n != total:
			return fmt.Errorf("%s is shard %d of %d, and %s is one of %d", s.Name, i, n, shards[0].Name, total)
		}
		if before, twice := by[i]; twice {
			return fmt.Errorf("shard %d/%d is there twice: %s and %s", i, total, before, s.Name)
		}
		by[i] = s.Name
	}
	var missing []string
	for i := 1; i <= total && len(missing) <= maxEchoes; i++ {
		if _, ok := by[i]; !ok {
			missing = append(missing, fmt.Sprintf("%d/%d", i, total))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("shard %s is missing; a run is merged from all of its shards", strings.Join(missing, ", "))
	}
	return nil
}

// shardOf reads I/N.
func shardOf(s string) (i, n int, err error) {
	first, second, ok := strings.Cut(s, "/")
	i, e1 := strconv.Atoi(first)
	n, e2 := strconv.Atoi(second)
	if !ok || e1 != nil || e2 != nil || i < 1 || i > n {
		return 0, 0, fmt.Errorf("its shard is %q, and I/N with I from 1 to N is wanted", result.Clip(result.Visible(s), maxName))
	}
	return i, n, nil
}

// sameRun is an error when two shards are not of one run.
func sameRun(a, b Shard) error {
	for _, of := range []struct {
		what, todo string
		a, b       any
	}{
		{"suites", "run every shard with the same version and the same case files", a.Run.Suite, b.Run.Suite},
		{"subjects", "run every shard against the same version of the same subject", a.Run.Subject, b.Run.Subject},
		{"choices of cases", "run every shard with the same patterns and filters", [2]any{a.Run.Selection.All, a.Run.Selection.Patterns}, [2]any{b.Run.Selection.All, b.Run.Selection.Patterns}},
		{"platforms", "run every shard on one platform", a.Run.Platform, b.Run.Platform},
		{"seeds", "give every shard the same --seed", a.Run.Seed, b.Run.Seed},
		{"numbers of repeats", "give every shard the same --repeat", a.Run.Repeat, b.Run.Repeat},
	} {
		if !reflect.DeepEqual(of.a, of.b) {
			return fmt.Errorf("the %s of %s and %s differ; %s", of.what, a.Name, b.Name, of.todo)
		}
	}
	return nil
}

// mergeRequirements gives each requirement the verdict that the cases of all shards
// come to: the worst, of which each shard has its own.
func mergeRequirements(r *result.Run, shards []Shard) error {
	for _, s := range shards[1:] {
		same := slices.EqualFunc(r.Requirements, s.Run.Requirements, func(a, b result.Requirement) bool { return a.ID == b.ID })
		if !same {
			return fmt.Errorf("%s and %s list different requirements, though they name the same suite", shards[0].Name, s.Name)
		}
	}
	for i := range r.Requirements {
		q := &r.Requirements[i]
		q.Cases = nil
		var verdicts []result.Verdict
		for _, s := range shards {
			part := s.Run.Requirements[i]
			verdicts = append(verdicts, part.Verdict)
			q.Cases = append(q.Cases, part.Cases...)
		}
		q.Verdict = coverage.First(verdicts)
	}
	return nil
}

// earlier is the earlier of two times in RFC 3339; what is none is the later.
func earlier(a, b string) string {
	t, e1 := time.Parse(time.RFC3339, a)
	u, e2 := time.Parse(time.RFC3339, b)
	if e1 != nil || e2 == nil && u.Before(t) {
		return b
	}
	return a
}

// withoutShard is the command line of the run that was not split.
func withoutShard(command []string) []string {
	var all []string
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == "--shard":
			i++
		case strings.HasPrefix(command[i], "--shard="):
		default:
			all = append(all, command[i])
		}
	}
	return all
}

// CopyEvidence copies what the cases of the shards recorded below the folder, which
// has to be there, as one run would have left it. Nothing outside of the shards'
// folders is read, and nothing outside of the folder written.
func CopyEvidence(folder string, shards []Shard) error {
	to, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("copy the evidence: %w", err)
	}
	defer to.Close()
	for _, s := range shards {
		if err := copyShard(to, s); err != nil {
			return fmt.Errorf("copy the evidence of %s: %w", s.Name, err)
		}
	}
	return nil
}

func copyShard(to *os.Root, s Shard) error {
	from, err := os.OpenRoot(cmp.Or(s.Evidence, "."))
	if err != nil {
		return err
	}
	defer from.Close()
	for _, c := range s.Run.Cases {
		if c.Evidence == "" {
			continue
		}
		where := filepath.FromSlash(c.Evidence)
		if !filepath.IsLocal(where) {
			return fmt.Errorf("the report names %q, which is outside of the folder", result.Visible(c.Evidence))
		}
		if err := copyFolder(to, from, where); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s does not hold that of %s on %s; keep the whole evidence folder of each shard, and name that",
					s.Evidence, clean(c.ID), clean(c.Transport))
			}
			return err
		}
	}
	return nil
}

// copyFolder copies the files of one evidence folder.
func copyFolder(to, from *os.Root, where string) error {
	// What is no folder is not opened: of a named pipe, that could wait for ever.
	if info, err := from.Stat(where); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is no folder", where)
	}
	dir, err := from.Open(where)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	if err := to.MkdirAll(where, 0o700); err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			if err := copyFile(to, from, filepath.Join(where, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(to, from *os.Root, name string) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
