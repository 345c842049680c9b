package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// loader reads the files of a registry and gathers everything that is wrong
// with them.
type loader struct {
	fsys fs.FS
	errs []error
}

func (l *loader) err() error { return errors.Join(l.errs...) }

// list hands each item of the file's list under the key to take.
func (l *loader) list(file, key string, take func(*document, *yaml.Node)) {
	d := &document{file: file}
	if root := d.open(l.fsys); root != nil {
		d.mapping(root, fields{key: func(n *yaml.Node) {
			d.sequence(n, func(item *yaml.Node) { take(d, item) })
		}}, key)
	}
	l.errs = append(l.errs, d.errs...)
}

// headings reads the protocol's table of contents.
func (l *loader) headings(file string) []Heading {
	var headings []Heading
	l.list(file, "sections", func(d *document, n *yaml.Node) {
		var number, title string
		d.mapping(n, fields{"number": d.text(&number), "title": d.text(&title)}, "number", "title")
		h := Heading{Section: Section(number), Title: title}
		switch {
		case number == "":
			return
		case !h.Section.IsValid():
			d.fault(n, "section %q is no section number", number)
		case len(headings) > 0 && headings[len(headings)-1].Section.Compare(h.Section) >= 0:
			d.fault(n, "section %s does not follow section %s", number, headings[len(headings)-1].Section)
		}
		headings = append(headings, h)
	})
	return headings
}

// readings reads the readings; s has the sections that they may name.
func (l *loader) readings(file string, s *Spec) []Reading {
	var readings []Reading
	last := 0
	l.list(file, "readings", func(d *document, n *yaml.Node) {
		var r Reading
		d.mapping(n, fields{
			"id":       d.text(&r.ID),
			"section":  d.section(&r.Section, s),
			"also":     d.sections(&r.Also, s),
			"question": d.text(&r.Question),
			"reading":  d.sentence(&r.Reading),
			"accepts":  d.sentence(&r.Accepts),
		}, "id", "section", "question", "reading")
		if r.ID == "" {
			return
		}
		digits, prefixed := strings.CutPrefix(r.ID, "R")
		number, err := strconv.Atoi(digits)
		switch {
		case !prefixed || err != nil || number < 1 || strconv.Itoa(number) != digits:
			d.fault(n, "reading %q: want an ID of R and a number", r.ID)
			return
		case number <= last:
			d.fault(n, "reading %s is given twice or out of order: it follows R%d", r.ID, last)
			return
		}
		if r.Question != "" && !strings.HasSuffix(r.Question, "?") {
			d.fault(n, "reading %s: the question ends without a question mark", r.ID)
		}
		last = number
		readings = append(readings, r)
	})
	return readings
}

// requirements reads every file of the folder; s has the sections and readings
// that they may name.
func (l *loader) requirements(folder string, s *Spec) []Requirement {
	entries, err := fs.ReadDir(l.fsys, folder)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("list the requirements: %w", err))
		return nil
	}
	var all []Requirement
	places := map[string]string{}
	for _, entry := range entries {
		file := path.Join(folder, entry.Name())
		if entry.IsDir() || path.Ext(file) != ".yaml" {
			l.errs = append(l.errs, fmt.Errorf("%s: only .yaml files may lie here", file))
			continue
		}
		l.list(file, "requirements", func(d *document, n *yaml.Node) {
			r, ok := d.requirement(n, s)
			if !ok {
				return
			}
			if first, twice := places[r.ID]; twice {
				d.fault(n, "requirement %s is given twice, first at %s", r.ID, first)
				return
			}
			places[r.ID] = fmt.Sprintf("%s:%d", file, n.Line)
			all = append(all, r)
		})
	}
	slices.SortStableFunc(all, func(a, b Requirement) int {
		order := Documents()
		return slices.Index(order, a.Document()) - slices.Index(order, b.Document())
	})
	return all
}

// requirement reads one requirement. It reports false if that has no ID to
// list it by.
func (d *document) requirement(n *yaml.Node, s *Spec) (Requirement, bool) {
	var r Requirement
	var level, side string
	d.mapping(n, fields{
		"id":           d.text(&r.ID),
		"section":      d.section(&r.Section, s),
		"also":         d.sections(&r.Also, s),
		"level":        d.text(&level),
		"level-word":   d.text(&r.LevelWord),
		"side":         d.text(&side),
		"text":         d.sentence(&r.Text),
		"readings":     d.citations(&r.Readings, s),
		"page":         d.text(&r.Page),
		"note":         d.sentence(&r.Note),
		"unobservable": d.sentence(&r.Unobservable),
	}, "id", "section", "level", "side", "text")
	r.Level, r.Side = Level(level), Side(side)
	if r.ID == "" {
		return r, false
	}
	number, ok := splitID(r.ID)
	if !ok {
		d.fault(n, "requirement %q: want an ID like P3/any-whitespace", r.ID)
		return r, false
	}
	if r.Document() == DocumentProtocol && r.Section != "" && number != r.Section {
		d.fault(n, "requirement %s: its section is %s, not %s", r.ID, number, r.Section)
	}
	if level != "" && !slices.Contains(Levels(), r.Level) {
		d.fault(n, "requirement %s: unknown level %q, want one of %v", r.ID, level, Levels())
	} else if r.LevelWord != "" && !slices.Contains(r.Level.words(), r.LevelWord) {
		d.fault(n, "requirement %s: %q does not count as %s", r.ID, r.LevelWord, level)
	}
	if side != "" && !slices.Contains(Sides(), r.Side) {
		d.fault(n, "requirement %s: unknown side %q, want one of %v", r.ID, side, Sides())
	}
	if isPage := r.Document() == DocumentSDKPage; isPage != (r.Page != "") {
		d.fault(n, "requirement %s: a page heading stands on every K requirement and on no other", r.ID)
	}
	return r, true
}

// splitID returns the section number in an ID of document, section and slug,
// and whether the ID is written as one.
func splitID(id string) (Section, bool) {
	head, slug, found := strings.Cut(id, "/")
	if !found || head == "" || !slices.Contains(Documents(), Document(head[:1])) {
		return "", false
	}
	for word := range strings.SplitSeq(slug, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return "", false
		}
	}
	number := Section(head[1:])
	return number, number.IsValid()
}

// section reads a section that the protocol has.
func (d *document) section(into *Section, s *Spec) func(*yaml.Node) {
	return func(n *yaml.Node) {
		var number string
		d.text(&number)(n)
		if number == "" {
			return
		}
		*into = Section(number)
		if _, ok := s.Heading(*into); !ok {
			d.fault(n, "the protocol has no section %q", number)
		}
	}
}

// sections reads a list of sections.
func (d *document) sections(into *[]Section, s *Spec) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.sequence(n, func(item *yaml.Node) {
			var section Section
			d.section(&section, s)(item)
			*into = append(*into, section)
		})
	}
}

// citations reads a list of readings that exist, none of them twice.
func (d *document) citations(into *[]string, s *Spec) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d.sequence(n, func(item *yaml.Node) {
			var id string
			d.text(&id)(item)
			if id == "" {
				return
			}
			switch _, ok := s.Reading(id); {
			case !ok:
				d.fault(item, "there is no reading %q", id)
			case slices.Contains(*into, id):
				d.fault(item, "reading %s is cited twice", id)
			}
			*into = append(*into, id)
		})
	}
}
