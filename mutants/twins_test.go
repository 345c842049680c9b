package mutants

import (
	"testing"

	"pugmark.dev/conform/stage"
)

func TestTwinsAreNotAskedForReadingsThatTheyGoWithout(t *testing.T) {
	o := options(t)
	o.Cases = only(o.Cases, "runtime/forks/made-when-the-parent-is-paused", "runtime/stream/start-event-last") // the first rests on R38
	leaves := Twin{ID: "runtime/leaves-forks", Runtime: func() *stage.Reference {
		return &stage.Reference{Bucket: childless(pausedParents)}
	}}
	without := leaves
	without.Without = []string{"R38"}
	o.Twins = []Twin{leaves, without}
	twins := kill(t, o).Twins
	if got := twins[0]; got.Results != 2 || len(got.Complaints) == 0 {
		t.Errorf("asked for R38: %d of 2 results, %d complaints", got.Results, len(got.Complaints))
	}
	if got := twins[1]; got.Results != 1 || len(got.Complaints) != 0 {
		t.Errorf("not asked for R38: %d of 1 results, %v", got.Results, got.Complaints)
	}
}
