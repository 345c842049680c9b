package coverage

import (
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/spec"
)

// Row is one requirement and the cases that cover it, by the kind of subject that
// they put to the test. Case IDs are sorted.
type Row struct {
	Requirement spec.Requirement
	Handler     []string
	Runtime     []string
}

// Cases returns all cases of the row, sorted.
func (r Row) Cases() []string {
	all := slices.Concat(r.Handler, r.Runtime)
	slices.Sort(all)
	return slices.Compact(all)
}

// IsGap reports whether the requirement ought to have a case and has none: it is
// a MUST or a DESC, and nobody wrote down why it can't be observed.
func (r Row) IsGap() bool {
	return r.Requirement.IsMandatory() && r.Requirement.IsObservable() && len(r.Handler)+len(r.Runtime) == 0
}

// Missing returns the sides that the requirement binds and that no case covers,
// whatever its level.
func (r Row) Missing() (sides []spec.Side) {
	for _, s := range []struct {
		side  spec.Side
		cases []string
	}{{spec.SideHandler, r.Handler}, {spec.SideRuntime, r.Runtime}} {
		if r.Requirement.Side.Binds(s.side) && len(s.cases) == 0 {
			sides = append(sides, s.side)
		}
	}
	return sides
}

// Matrix lists every requirement in document order with its cases.
func Matrix(s *spec.Spec, cases []*casefile.Case) []Row {
	handler, runtime := map[string][]string{}, map[string][]string{}
	for _, c := range cases {
		by := runtime
		if spec.Side(c.Kind) == spec.SideHandler {
			by = handler
		}
		for _, id := range c.Covers {
			if !slices.Contains(by[id], c.ID) {
				by[id] = append(by[id], c.ID)
			}
		}
	}
	var rows []Row
	for _, r := range s.Requirements() {
		slices.Sort(handler[r.ID])
		slices.Sort(runtime[r.ID])
		rows = append(rows, Row{Requirement: r, Handler: handler[r.ID], Runtime: runtime[r.ID]})
	}
	return rows
}

// Gaps returns the rows that ought to have a case and have none.
func Gaps(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !r.IsGap() })
}
