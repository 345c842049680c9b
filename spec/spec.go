package spec

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
)

//go:embed requirements readings.yaml sections.yaml
var files embed.FS

// Spec is the whole of what peers are judged by, cases aside. It does not
// change after it was loaded, and may be read from several goroutines.
type Spec struct {
	headings     []Heading
	requirements []Requirement
	readings     []Reading

	byHeading     map[Section]int
	byRequirement map[string]int
	byReading     map[string]int
}

// Load parses the embedded requirements and readings. It does so anew on each
// call, in some milliseconds: load once and pass the value on. An error means
// that the program was built from a broken registry.
func Load() (*Spec, error) {
	s, err := LoadFS(files)
	if err != nil {
		return nil, fmt.Errorf("load the built-in requirements: %w", err)
	}
	return s, nil
}

// LoadFS parses a registry that lies in fsys as ours does in this folder:
// sections.yaml, readings.yaml and requirements/*.yaml. Everything that does
// not fit is reported at once, each fault with its file, line and column:
// unknown or repeated keys, a second YAML document, IDs that are malformed or
// used twice, levels, sides, sections and readings that do not exist, and
// texts that are no sentences.
func LoadFS(fsys fs.FS) (*Spec, error) {
	l := &loader{fsys: fsys}
	s := &Spec{
		headings:      l.headings("sections.yaml"),
		byHeading:     map[Section]int{},
		byRequirement: map[string]int{},
		byReading:     map[string]int{},
	}
	for i, h := range s.headings {
		s.byHeading[h.Section] = i
	}
	for _, r := range l.readings("readings.yaml", s) {
		s.byReading[r.ID] = len(s.readings)
		s.readings = append(s.readings, r)
	}
	for _, r := range l.requirements("requirements", s) {
		s.byRequirement[r.ID] = len(s.requirements)
		s.requirements = append(s.requirements, r)
	}
	if err := l.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Requirements returns all requirements in document order: those of the
// protocol section by section, then those on storage, then those of the SDK
// page. The slice is the caller's own; the lists inside it are shared.
func (s *Spec) Requirements() []Requirement { return slices.Clone(s.requirements) }

// Requirement returns the requirement with the ID, and whether there is one.
func (s *Spec) Requirement(id string) (Requirement, bool) {
	i, ok := s.byRequirement[id]
	if !ok {
		return Requirement{}, false
	}
	return s.requirements[i], true
}

// Position returns the place of the requirement in document order, from 0, so
// that lists of IDs can be sorted by it; -1 if there is no such requirement.
func (s *Spec) Position(id string) int {
	i, ok := s.byRequirement[id]
	if !ok {
		return -1
	}
	return i
}

// Readings returns all readings in the order of their numbers. The slice is
// the caller's own; the lists inside it are shared.
func (s *Spec) Readings() []Reading { return slices.Clone(s.readings) }

// Reading returns the reading with the ID, and whether there is one.
func (s *Spec) Reading(id string) (Reading, bool) {
	i, ok := s.byReading[id]
	if !ok {
		return Reading{}, false
	}
	return s.readings[i], true
}

// CitedBy returns the requirements that cite the reading, in document order.
func (s *Spec) CitedBy(reading string) []Requirement {
	var cited []Requirement
	for _, r := range s.requirements {
		if slices.Contains(r.Readings, reading) {
			cited = append(cited, r)
		}
	}
	return cited
}

// Headings returns the sections of the protocol with their titles, in order.
func (s *Spec) Headings() []Heading { return slices.Clone(s.headings) }

// Heading returns the section with its title, and whether the protocol has it.
func (s *Spec) Heading(section Section) (Heading, bool) {
	i, ok := s.byHeading[section]
	if !ok {
		return Heading{}, false
	}
	return s.headings[i], true
}
