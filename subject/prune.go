//go:build unix

package subject

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// keptSetups is how many set-ups of one subject file are kept: the one in use, and one
// for whoever goes back and forth between two states of a source.
const keptSetups = 2

// origin is the file of a set-up that has the folder of the subject file it was first
// made for: of that file's set-ups, which differ in what it names, few are kept.
func (s setup) origin() string { return filepath.Join(s.root, "origin") }

// used notes that the set-up was used now, which decides what is kept. That it can't be
// noted, as in a cache that is read-only, costs nothing but a set-up one day.
func (s setup) used() { _ = os.Chtimes(s.stamp(), time.Time{}, time.Now()) }

// prune removes the set-ups of the same subject file that were not used for longest. It
// leaves what somebody uses or works on. What can't be removed stays: a set-up that is
// done is not to fail by it.
func (s setup) prune() {
	origin, err := os.ReadFile(s.origin())
	if err != nil {
		return
	}
	roots, err := filepath.Glob(filepath.Join(globQuoted(filepath.Dir(s.root)), "*", "origin"))
	if err != nil {
		return
	}
	type old struct {
		setup
		last time.Time
	}
	var others []old
	for _, file := range roots {
		other := old{setup: setup{root: filepath.Dir(file)}}
		text, err := os.ReadFile(file)
		if err != nil || other.root == s.root || string(text) != string(origin) {
			continue
		}
		if info, err := os.Stat(other.stamp()); err == nil {
			other.last = info.ModTime() // else it did not go through, and is the first to go
		}
		others = append(others, other)
	}
	slices.SortFunc(others, func(a, b old) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.root, b.root)) })
	for _, other := range others[min(len(others), keptSetups-1):] {
		other.remove()
	}
}

// remove removes the set-up, unless somebody holds it.
func (s setup) remove() {
	unlock, err := tryHold(s.root+".lock", exclusive)
	if err != nil {
		return
	}
	defer unlock()
	// First what says that it is done, then the rest, of which something may stay.
	if err := os.Remove(s.stamp()); err != nil && !os.IsNotExist(err) {
		return
	}
	if err := os.RemoveAll(s.root); err == nil {
		os.Remove(s.root + ".lock")
	}
}

// globQuoted is a path as a pattern that matches nothing else.
func globQuoted(path string) string {
	var quoted []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			quoted = append(quoted, '\\')
		}
		quoted = append(quoted, r)
	}
	return string(quoted)
}
