package casefile

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"pugmark.dev/conform/script"
	"pugmark.dev/conform/spec"
)

// head is what every case begins with.
type head struct {
	// Why is one sentence that says which sentence of the protocol the case rests on.
	Why string `yaml:"why"`
	// Covers is the requirements that the case puts to the test, and the readings
	// that the whole case rests on.
	Covers []string `yaml:"covers"`
	// Needs is the features that the subject has to claim.
	Needs []string `yaml:"needs,omitempty"`
	// Transports is where the case makes sense; everywhere when absent.
	Transports []string `yaml:"transports,omitempty"`
	// Limit is the time limit of the case.
	Limit script.Duration `yaml:"limit,omitempty"`
}

// checker holds one case against what a case must be. What it finds goes to the
// document that the place belongs to.
type checker struct {
	registry Registry
	shapes   *shapes
	kind     string
	c        *Case
}

// head checks what every case begins with, and puts it into the case.
func (k *checker) head(at place, h head) {
	k.c.Why, k.c.Needs, k.c.Transports, k.c.Limit = h.Why, h.Needs, h.Transports, h.Limit
	if message := notASentence(h.Why); message != "" {
		at.key("why").fault("`why` is one sentence: %s", message)
	}
	for i, id := range h.Covers {
		spot := at.key("covers").item(i)
		if slices.Contains(h.Covers[:i], id) {
			spot.fault("%s is covered twice", id)
			continue
		}
		if _, ok := k.registry.Reading(id); ok {
			k.c.Readings = append(k.c.Readings, id)
			continue
		}
		if k.requirement(spot, id) {
			k.c.Covers = append(k.c.Covers, id)
		}
	}
	if len(k.c.Covers) == 0 && len(k.c.Readings) == len(h.Covers) {
		at.key("covers").fault("`covers` names no requirement")
	}
	k.known(at.key("needs"), "feature of a "+k.kind, h.Needs, Features(k.kind))
	k.unique(at.key("transports"), h.Transports)
	if at.has("limit") && h.Limit <= 0 {
		at.key("limit").fault("a time limit is longer than nothing")
	}
}

// requirement reports whether a case of this kind can cover the requirement.
func (k *checker) requirement(at place, id string) bool {
	r, ok := k.registry.Requirement(id)
	switch {
	case !ok:
		at.fault("there is no requirement or reading %s%s", id, k.suggest(id))
	case !r.Side.Binds(spec.Side(k.kind)):
		at.fault("%s binds the %s: a %s case can't cover it", id, r.Side, k.kind)
	default:
		return true
	}
	return false
}

// known checks a list of words.
func (k *checker) known(at place, what string, words, all []string) {
	k.unique(at, words)
	for i, word := range words {
		if !slices.Contains(all, word) {
			at.item(i).fault("unknown %s %q%s", what, word, orOneOf(word, all))
		}
	}
}

func (k *checker) unique(at place, words []string) {
	for i, word := range words {
		if slices.Contains(words[:i], word) {
			at.item(i).fault("%q is given twice", word)
		}
	}
}

// need complains of a feature that the case makes use of without naming it.
func (k *checker) need(at place, feature, because string) {
	if !slices.Contains(k.c.Needs, feature) {
		at.fault("%s: add `%s` to `needs`", because, feature)
	}
}

// block is what the blocks of both kinds have in common.
type block struct {
	at          place
	requirement string
	readings    []string
	stream      []string
	streamAt    place
}

// effective returns the requirement that the checks of a block cite: its own, or
// the only one of the case. Empty after a problem.
func (k *checker) effective(b block) string {
	switch {
	case b.requirement == "" && len(k.c.Covers) == 1:
		return k.c.Covers[0]
	case b.requirement == "" && len(k.c.Covers) > 1:
		b.at.fault("the case covers %d requirements: say which this block is about with `requirement`", len(k.c.Covers))
	case b.requirement != "" && !slices.Contains(k.c.Covers, b.requirement):
		b.at.key("requirement").fault("%s is not in `covers`%s", b.requirement, meant(b.requirement, k.c.Covers))
	}
	return b.requirement
}

// cite checks what a block rests on, and that its stream rules are its
// requirement's.
func (k *checker) cite(b block, requirement string) {
	k.unique(b.at.key("readings"), b.readings)
	for i, id := range b.readings {
		spot := b.at.key("readings").item(i)
		if _, ok := k.registry.Reading(id); !ok {
			spot.fault("there is no reading %s%s", id, k.suggest(id))
		} else if slices.Contains(k.c.Readings, id) {
			spot.fault("the whole case rests on %s already", id)
		}
	}
	rules := StreamRules()
	for i, rule := range b.stream {
		if about := rules[rule]; requirement != "" && about != "" && about != requirement {
			b.streamAt.item(i).fault("the rule `%s` is about %s, and this block about %s", rule, about, requirement)
		}
	}
}

func (k *checker) suggest(id string) string {
	if near, ok := k.registry.Suggest(id); ok {
		return ", did you mean `" + near + "`?"
	}
	return ""
}

// uncited complains of requirements that the case covers and no block is about.
func (k *checker) uncited(at place, cited map[string]bool, how string) {
	for _, id := range k.c.Covers {
		if !cited[id] {
			at.fault("%s is covered, and %s", id, how)
		}
	}
}

// notASentence says why a text is not one sentence.
func notASentence(text string) string {
	switch {
	case strings.TrimSpace(text) != text || strings.ContainsAny(text, "\n\t"):
		return "it stands in one paragraph"
	case !beginsLikeASentence(text):
		return "it begins with a capital letter"
	case !strings.HasSuffix(text, "."):
		return "it ends with a full stop"
	case len(strings.Fields(text)) < 3:
		return "it has more than two words"
	case hasTwoSentences(text):
		return "this is more than one"
	case strings.Contains(text, placeholderWhy):
		return "this is still what new-case wrote; say which sentence of the protocol the case rests on"
	}
	return ""
}

// listOf makes a list of a key's value that is a single mapping.
func listOf(root *yaml.Node, key string) {
	v := lookup(root, key)
	if v == nil || v.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i+1] == v {
			root.Content[i+1] = listWith(v)
		}
	}
}
