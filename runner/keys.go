package runner

import (
	"slices"

	"pugmark.dev/conform/casefile"
)

// Everything is the key of every result that a whole run of the cases against the
// subject has.
func Everything(cases []*casefile.Case, s Subject) []Key {
	kinds := s.Kinds()
	of := slices.DeleteFunc(slices.Clone(cases), func(c *casefile.Case) bool { return !slices.Contains(kinds, c.Kind) })
	return Planned(Options{Cases: of, Subject: s})
}

// Planned is the key of every result that a run with these options has, in the order
// of the report.
func Planned(o Options) (keys []Key) {
	for _, j := range (&run{Options: o}).plan() {
		keys = append(keys, j.key())
	}
	return keys
}

func (j *job) key() Key { return Key{j.c.ID, j.transport} }

// kept is the jobs that Only and Shard leave.
func (o Options) kept(jobs []*job) []*job {
	if len(o.Only) > 0 {
		jobs = slices.DeleteFunc(jobs, func(j *job) bool { return !slices.Contains(o.Only, j.key()) })
	}
	if o.Shard.Count <= 1 {
		return jobs
	}
	keys := make([]Key, len(jobs))
	for i, j := range jobs {
		keys[i] = j.key()
	}
	mine := map[Key]bool{}
	for _, k := range o.Shard.Of(keys) {
		mine[k] = true
	}
	return slices.DeleteFunc(jobs, func(j *job) bool { return !mine[j.key()] })
}
