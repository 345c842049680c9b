package subject

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// check holds a subject file, whose keys are right, against what a subject is.
type check struct {
	d    *document
	root *yaml.Node
	f    *File
}

// at is where a key stands, or the whole file when it is not there.
func (c check) at(place string) *yaml.Node {
	if n := c.d.nodes[place]; n != nil {
		return n
	}
	return c.root
}

func (c check) has(place string) bool { return c.d.nodes[place] != nil }

func (c check) all() {
	c.name()
	switch kinds := []string{KindHandler, KindRuntime}; {
	case !c.has("kind"):
		c.d.fault(c.root, "the key `kind` is missing: it is `handler` or `runtime`")
	case !slices.Contains(kinds, c.f.Kind):
		c.d.fault(c.at("kind"), "unknown `kind` %q%s", c.f.Kind, orOneOf(c.f.Kind, kinds))
	default:
		c.features()
	}
	switch c.f.Kind {
	case KindHandler:
		c.handler()
	case KindRuntime:
		c.runtime()
	}
	if c.has("setup") && isEmpty(c.at("setup")) {
		c.d.fault(c.at("setup"), "the list `setup` is empty: leave it out")
	}
	if c.has("known-failures") && strings.TrimSpace(c.f.KnownFailures) == "" {
		c.d.fault(c.at("known-failures"), "`known-failures` names no file")
	}
	for i, name := range c.f.Mask {
		if name == "" || strings.ContainsAny(name, "= \t\n") || slices.Contains(c.f.Mask[:i], name) {
			c.d.fault(item(c.at("mask"), i), "`mask` lists names of variables, each once, and %q is none or there twice", name)
		}
	}
	for place, args := range c.lists() {
		c.args(place, args)
	}
}

func (c check) name() {
	switch name := c.f.Name; {
	case !c.has("name"):
		c.d.fault(c.root, "the key `name` is missing: it is how reports call the subject")
	case name == "", name != strings.TrimSpace(name), strings.ContainsFunc(name, unicode.IsControl), len(name) > 100:
		c.d.fault(c.at("name"), "`name` is 1 to 100 bytes of one line, with no space around them")
	case strings.ContainsAny(name, `/\`), strings.Trim(name, ".") == "":
		c.d.fault(c.at("name"), "`name` names the folder of the evidence too: it has no slash, and is more than dots")
	}
}

func (c check) features() {
	for i, feature := range c.f.Features {
		n := item(c.at("features"), i)
		switch {
		case slices.Contains(c.f.Features[:i], feature):
			c.d.fault(n, "the feature `%s` is claimed twice", feature)
		case !slices.Contains(Features(c.f.Kind), feature):
			c.d.fault(n, "unknown feature `%s` of a %s%s", feature, c.f.Kind, orOneOf(feature, Features(c.f.Kind)))
		}
	}
}

func (c check) handler() {
	for _, key := range []string{"commands", "driver"} {
		if c.has(key) {
			c.d.fault(c.at(key), "`%s` belongs to a runtime: a handler has `transports`", key)
		}
	}
	t := c.f.Transports
	if t.Subprocess == nil && t.RPC == nil && t.HTTP == nil {
		c.d.fault(c.at("transports"), "a handler has at least one of the `transports` %s", strings.Join(TransportNames(), ", "))
	}
	for place, command := range map[string]*CommandTransport{"transports.subprocess": t.Subprocess, "transports.rpc": t.RPC} {
		if command != nil && !c.has(place+".command") {
			c.d.fault(c.at(place), "`%s` has no `command`", place)
		}
	}
	if t.HTTP != nil {
		c.http(*t.HTTP)
	}
}

func (c check) http(h HTTPTransport) {
	const place = "transports.http"
	if !c.has(place + ".url") {
		c.d.fault(c.at(place), "`%s` has no `url`", place)
		return
	}
	at := c.at(place + ".url")
	c.words(place+".url", at, h.URL)
	u, err := url.Parse(expand(h.URL, map[string]string{"port": "1"}))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		c.d.fault(at, "`%s.url` is no http or https URL: %q", place, h.URL)
	}
	inURL, inCommand := mentions(Args{h.URL}, "port"), mentions(h.Command, "port")
	switch {
	case inURL && !c.has(place+".command"):
		c.d.fault(at, "{port} is the port that `command` is given, and there is no `command`")
	case inURL && !inCommand:
		c.d.fault(c.at(place+".command"), "the `url` has {port}, so the `command` has to be told it: it has no {port}")
	case inCommand && !inURL:
		c.d.fault(at, "the `command` is told {port}, so the `url` has to have it: it has no {port}")
	}
}

func (c check) runtime() {
	if c.has("transports") {
		c.d.fault(c.at("transports"), "`transports` belong to a handler: a runtime has `commands` or a `driver`")
	}
	switch commands, driver := c.has("commands"), c.has("driver"); {
	case commands && driver:
		c.d.fault(c.at("driver"), "a runtime has `commands` or a `driver`, not both")
	case !commands && !driver:
		c.d.fault(c.root, "a runtime has `commands` or a `driver`, and this one has neither")
	case commands && isEmpty(c.at("commands")):
		c.d.fault(c.at("commands"), "`commands` is empty")
	}
	if c.has("commands") && !c.has("driver") && !isEmpty(c.at("commands")) {
		c.claims()
	}
	c.operands()
}

// claims sees to it that what a runtime claims has its template: without one it
// could not be put to the test, and would be accused of it.
func (c check) claims() {
	claimed := func(feature string) bool { return slices.Contains(c.f.Features, feature) }
	for _, t := range templateClaims() {
		if slices.ContainsFunc(t.features, func(f string) bool { return !claimed(f) }) || c.has("commands."+t.op) {
			continue
		}
		c.d.fault(c.claim(t.features), "`%s` %s claimed, and there is no `commands.%s`", strings.Join(t.features, "` and `"), isOrAre(t.features), t.op)
	}
	start := c.f.Commands[opStart]
	for _, word := range startClaims() {
		if claimed(word.feature) && len(start) > 0 && !mentions(start, word.placeholder) {
			c.d.fault(c.claim([]string{word.feature}), "`%s` is claimed, and `commands.start` has no {%s}", word.feature, word.placeholder)
		}
	}
}

// claim is where the last of several features is claimed.
func (c check) claim(features []string) *yaml.Node {
	last := 0
	for _, f := range features {
		last = max(last, slices.Index(c.f.Features, f))
	}
	return item(c.at("features"), last)
}

func isOrAre(list []string) string {
	if len(list) == 1 {
		return "is"
	}
	return "are"
}

// operands sees to it that a template can say what its operation is about.
func (c check) operands() {
	for _, op := range CommandNames() {
		args := c.f.Commands[op]
		for _, word := range required(op) {
			if len(args) > 0 && !mentions(args, word) {
				c.d.fault(c.at("commands."+op), "`commands.%s` has no {%s}", op, word)
			}
		}
	}
}

// lists is every argument list of the file by its place.
func (c check) lists() map[string]Args {
	all := map[string]Args{"version": c.f.Version, "driver": c.f.Driver}
	for i, line := range c.f.Setup {
		all[setupPlace(i)] = line
	}
	for op, args := range c.f.Commands {
		all["commands."+op] = args
	}
	if t := c.f.Transports.Subprocess; t != nil {
		all["transports.subprocess.command"] = t.Command
	}
	if t := c.f.Transports.RPC; t != nil {
		all["transports.rpc.command"] = t.Command
	}
	if t := c.f.Transports.HTTP; t != nil {
		all["transports.http.command"] = t.Command
	}
	return all
}

// args checks the placeholders of one list.
func (c check) args(place string, args Args) {
	for i, text := range args {
		n := item(c.at(place), i)
		if strings.ContainsRune(text, 0) {
			c.d.fault(n, "`%s`: an argument can't hold a NUL", place)
		}
		c.words(place, n, text)
		word, whole := alone(text)
		for _, p := range scan(text) {
			if standsAlone(place, p.word) && !whole {
				c.d.fault(n, "`%s`: {%s} is a list, so it stands alone in its item", place, p.word)
			}
		}
		if whole && word == "handlers" && (i == 0 || !strings.HasPrefix(args[i-1], "-")) {
			c.d.fault(n, "`%s`: {handlers} follows the option that is repeated for each handler", place)
		}
	}
}

// words checks the placeholders of one text.
func (c check) words(place string, n *yaml.Node, text string) {
	known := placeholders(place)
	for _, p := range scan(text) {
		if slices.Contains(known, p.word) {
			continue
		}
		list := "{" + strings.Join(known, "}, {") + "}"
		near, ok := nearest(p.word, known)
		switch {
		case slices.Contains(allPlaceholders(), p.word):
			c.d.fault(n, "`%s`: {%s} has no meaning here, only %s have", place, p.word, list)
		case ok:
			c.d.fault(n, "`%s`: unknown placeholder {%s}, did you mean {%s}?", place, p.word, near)
		default:
			c.d.fault(n, "`%s`: unknown placeholder {%s}, known here are %s", place, p.word, list)
		}
	}
}

// mentions reports whether a list has the placeholder.
func mentions(args Args, word string) bool {
	return slices.ContainsFunc(args, func(text string) bool {
		return slices.ContainsFunc(scan(text), func(p braced) bool { return p.word == word })
	})
}
