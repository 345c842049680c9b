package casefile

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// PlaceholderReason is the reason that a new known-failures file has for each entry.
// The loader refuses it: somebody has to say why.
const PlaceholderReason = "TODO"

// maxKnownFailures is how many bytes a known-failures file may have.
const maxKnownFailures = 4 << 20

// KnownFailure is one entry of a known-failures file: an assertion of the subject's
// owner that results end in a certain way.
type KnownFailure struct {
	// Case is the ID of a case, or a glob on IDs: `*` within a segment, `**` across.
	Case string `yaml:"case"`
	// Transport is the one that the entry is about; all when absent.
	Transport string `yaml:"transport,omitempty"`
	// Verdict is how the results end.
	Verdict string `yaml:"verdict"`
	// Requirements is what fails there. Another one that fails is not excused.
	Requirements []string `yaml:"requirements,omitempty"`
	// Checks is the IDs of the checks that fail there, in the place of requirements.
	Checks []string `yaml:"checks,omitempty"`
	// Where is the places at which they fail, as reports name them but with `a byte` in
	// the place of a byte's number; anywhere when absent. Of what is not-testable it is
	// where the control failed.
	Where []string `yaml:"where,omitempty"`
	// Matches is how many results the entry may match; a glob has to say it.
	Matches int `yaml:"matches,omitempty"`
	// Reason says why this is known, and not mended.
	Reason string `yaml:"reason"`
	// Issue is the URL where it is followed.
	Issue string `yaml:"issue,omitempty"`
	// Expires is the last day on which the entry holds, as 2006-01-02, in UTC.
	Expires Date `yaml:"expires,omitempty"`
	// Line is where the entry begins, from 1.
	Line int `yaml:"-"`
}

// Date is a day as 2006-01-02, quoted or not.
type Date string

// UnmarshalYAML reads a day.
func (d *Date) UnmarshalYAML(n *yaml.Node) error {
	if _, err := time.Parse(time.DateOnly, n.Value); n.Kind != yaml.ScalarNode || err != nil {
		return fmt.Errorf("want a day, as 2006-01-02, got %s", kindOf(n))
	}
	*d = Date(n.Value)
	return nil
}

// knownFailuresDoc is a known-failures file.
type knownFailuresDoc struct {
	// KnownFailures is the entries; the file of a subject that has none left may have
	// an empty list.
	KnownFailures *[]KnownFailure `yaml:"known-failures"`
}

// LoadKnownFailures reads a known-failures file. The problems have their places; with
// one there are no entries. The error is of reading.
func LoadKnownFailures(file string, registry Registry) ([]KnownFailure, []Problem, error) {
	// Asked before it is opened: to open a named pipe waits for whoever writes to it.
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("known failures: %s is no regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("known failures: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKnownFailures+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("known failures: %w", err)
	case len(data) > maxKnownFailures:
		return nil, nil, fmt.Errorf("known failures: %s has over %d bytes", file, maxKnownFailures)
	}
	entries, problems := ParseKnownFailures(file, data, registry)
	return entries, problems, nil
}

// ParseKnownFailures is LoadKnownFailures of a file whose content is at hand.
func ParseKnownFailures(file string, data []byte, registry Registry) ([]KnownFailure, []Problem) {
	found := []Problem{}
	doc := &document{file: file, found: &found}
	root := doc.parse(data)
	if root == nil {
		return nil, sorted(found)
	}
	v, ok := decode[knownFailuresDoc](doc, newShapes(), root, walker{})
	if !ok {
		return nil, sorted(found)
	}
	entries := *v.KnownFailures
	list := place{doc, root}.key("known-failures")
	first := map[string]int{}
	for i := range entries {
		at := list.item(i)
		entries[i].Line = at.node.Line
		entries[i].check(at, registry)
		key := fmt.Sprintf("%q", []any{entries[i].Case, entries[i].Transport, entries[i].Verdict, entries[i].Requirements, entries[i].Checks, entries[i].Where})
		if line, twice := first[key]; twice {
			at.fault("this entry is there twice, first on line %d: remove one", line)
		}
		first[key] = at.node.Line
	}
	if len(found) > 0 {
		return nil, sorted(found)
	}
	return entries, nil
}

// IsGlob reports whether the entry's case is a pattern.
func (k *KnownFailure) IsGlob() bool { return strings.ContainsAny(k.Case, "*?[") }

// check holds an entry, whose keys are right, against what an entry is.
func (k *KnownFailure) check(at place, registry Registry) {
	_, err := path.Match(k.Case, "")
	switch {
	case err != nil || k.Case == "":
		at.key("case").fault("`case` is the ID of a case, or a glob on IDs")
	case at.has("matches") && k.Matches < 1:
		at.key("matches").fault("`matches` is how many results the entry may match: 1 or more")
	case k.IsGlob() && !at.has("matches"):
		at.key("case").fault("a glob says how many results it may match: add `matches`, so that it does not excuse what nobody has seen")
	}
	k.checkReason(at)
	if u, err := url.Parse(k.Issue); k.Issue != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		at.key("issue").fault("`issue` is a URL, as https://example.com/issues/1")
	}
	switch both, none := len(k.Requirements) > 0 && len(k.Checks) > 0, len(k.Requirements)+len(k.Checks) == 0; {
	case both:
		at.key("checks").fault("`checks` and `requirements` say the same in two ways: keep one")
	case none && k.Verdict == "fail":
		at.fault("the entry does not say what it excuses: add `requirements`, or `checks`, that fail")
	}
	for i, id := range k.Requirements {
		spot := at.key("requirements").item(i)
		if slices.Contains(k.Requirements[:i], id) {
			spot.fault("%s is there twice", id)
			continue
		}
		if _, ok := registry.Requirement(id); ok {
			continue
		}
		if near, ok := registry.Suggest(id); ok {
			spot.fault("unknown requirement %s, did you mean `%s`?", id, near)
		} else {
			spot.fault("unknown requirement %s; `pugmark-conform list` shows what there is", id)
		}
	}
	for key, list := range map[string][]string{"checks": k.Checks, "where": k.Where} {
		for i, id := range list {
			if slices.Contains(list[:i], id) || strings.TrimSpace(id) == "" {
				at.key(key).item(i).fault("%q is there twice, or empty", id)
			}
		}
	}
}

func (k *KnownFailure) checkReason(at place) {
	reason := strings.TrimSpace(k.Reason)
	switch {
	case reason == "":
		at.key("reason").fault("`reason` is empty: say why this is known, and not mended")
	case strings.HasPrefix(strings.ToUpper(reason), PlaceholderReason):
		at.key("reason").fault("the reason is still to be written: say in the place of %q why this is known, and not mended", k.Reason)
	}
}
