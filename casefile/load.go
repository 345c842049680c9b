package casefile

import (
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/spec"
)

// Registry is what the loader asks of the registry of requirements and readings;
// *spec.Spec is one.
type Registry interface {
	Requirement(id string) (spec.Requirement, bool)
	Reading(id string) (spec.Reading, bool)
	// Suggest returns the known ID nearest to one that was mistyped.
	Suggest(id string) (string, bool)
}

// Loader loads cases. Registry is needed.
type Loader struct {
	Registry Registry
	// Root is put before the names of files, in cases and in problems, so that they
	// point at what a user can open.
	Root string
}

// Load loads every case of a folder of cases: see [Loader.Load].
func Load(fsys fs.FS, registry Registry) ([]*Case, []Problem) {
	return Loader{Registry: registry}.Load(fsys)
}

// LoadFile loads one case: see [Loader.LoadFile].
func LoadFile(fsys fs.FS, name string, registry Registry) (*Case, []Problem) {
	return Loader{Registry: registry}.LoadFile(fsys, name)
}

// Load loads every case of a folder that has the folders handler and runtime at
// its root. It returns the cases that are right, sorted by ID, and all problems
// of all files, sorted by place. A problem anywhere means that the folder must
// not be run: a case that is left out would look like one that passed.
func (l Loader) Load(fsys fs.FS) ([]*Case, []Problem) {
	var cases []*Case
	var problems []Problem
	first, shapes := map[string]string{}, newShapes()
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			problems = append(problems, l.problem(name, err.Error()))
			return nil
		}
		if message := l.stray(name, entry); message != "" {
			problems = append(problems, l.problem(name, message))
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if entry.IsDir() || !isCase(name) {
			return nil
		}
		c, found := l.loadFile(fsys, name, shapes)
		problems = append(problems, found...)
		id := strings.TrimSuffix(name, path.Ext(name))
		if other, twice := first[id]; twice {
			problems = append(problems, l.problem(name, fmt.Sprintf("the case %s is there twice, first as %s", id, l.path(other))))
			cases = slices.DeleteFunc(cases, func(c *Case) bool { return c.ID == id })
			return nil
		}
		first[id] = name
		if c != nil {
			cases = append(cases, c)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, l.problem(".", err.Error()))
	}
	slices.SortFunc(cases, func(a, b *Case) int { return strings.Compare(a.ID, b.ID) })
	return cases, sorted(problems)
}

// LoadFile loads the case in one file; name is its path from the folder that has
// the folders handler and runtime, which makes its ID. With a problem there is
// no case.
func (l Loader) LoadFile(fsys fs.FS, name string) (*Case, []Problem) {
	return l.loadFile(fsys, name, newShapes())
}

// loadFile is LoadFile with the shapes of what was loaded before.
func (l Loader) loadFile(fsys fs.FS, name string, shapes *shapes) (*Case, []Problem) {
	kind, message := kindOfName(name)
	if message != "" {
		return nil, []Problem{l.problem(name, message)}
	}
	// Asked before it is opened: to open a named pipe waits for whoever writes to it.
	if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
		return nil, []Problem{l.problem(name, "a case is a regular file")}
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, []Problem{l.problem(name, err.Error())}
	}
	c := &Case{ID: strings.TrimSuffix(name, path.Ext(name)), Kind: kind, File: l.path(name), Digest: protocol.Digest(data)}
	found := []Problem{}
	k := &checker{registry: l.Registry, shapes: shapes, kind: kind, c: c}
	doc := &document{file: c.File, found: &found}
	switch {
	case path.Ext(name) == ".txtar":
		k.story(doc, data)
	case kind == KindHandler:
		k.handlerCase(doc, data)
	default:
		k.runtimeCase(doc, data)
	}
	if len(found) > 0 {
		return nil, sorted(found)
	}
	return c, nil
}

func (l Loader) path(name string) string { return path.Join(l.Root, name) }

func (l Loader) problem(name, message string) Problem {
	return Problem{File: l.path(name), Line: 1, Column: 1, Message: message}
}

// stray says what is wrong with a file or folder that holds no case.
func (l Loader) stray(name string, entry fs.DirEntry) string {
	switch base := path.Base(name); {
	case name == ".":
		return ""
	case entry.IsDir():
		if !strings.Contains(name, "/") && name != KindHandler && name != KindRuntime {
			return fmt.Sprintf("the folder %s holds no cases: want %s or %s", name, KindHandler, KindRuntime)
		}
		return ""
	case base == "README.md", isCase(name):
		return ""
	default:
		return fmt.Sprintf("%s is no case: their files end in .yaml or .txtar", base)
	}
}

func isCase(name string) bool {
	return path.Ext(name) == ".yaml" || path.Ext(name) == ".txtar"
}

// CheckPath says what the loader finds wrong with the path of a case file below the
// folder of cases, with slashes and its extension; nothing is the empty string.
func CheckPath(name string) string {
	_, message := kindOfName(name)
	return message
}

// kindOfName returns the kind of a case by its path, and what is wrong with the
// path: its parts are words that say the fact.
func kindOfName(name string) (kind, message string) {
	parts := strings.Split(strings.TrimSuffix(name, path.Ext(name)), "/")
	kind = parts[0]
	switch {
	case !isCase(name):
		return "", "a case is a .yaml or a .txtar file"
	case kind != KindHandler && kind != KindRuntime:
		return "", fmt.Sprintf("a case lies under %s/AREA/ or %s/AREA/", KindHandler, KindRuntime)
	case len(parts) < 3:
		return "", fmt.Sprintf("a case lies in the folder of its area: %s/AREA/%s", kind, path.Base(name))
	}
	for _, part := range parts {
		if !isName(part) {
			return "", fmt.Sprintf("%q: an ID is made of lower-case letters and digits with hyphens between words", part)
		}
		if isPosition(part) {
			return "", fmt.Sprintf("%q: an ID says the fact, not a position", part)
		}
	}
	return kind, ""
}

// handlerDoc and runtimeDoc are the documents of the two kinds of YAML cases.
type (
	handlerDoc struct {
		head    `yaml:",inline"`
		Handler `yaml:",inline"`
		// Expect is what must be seen, one block for each requirement.
		Expect []HandlerExpect `yaml:"expect"`
	}
	runtimeDoc struct {
		head    `yaml:",inline"`
		Runtime `yaml:",inline"`
		// Expect is what must be seen, one block for each requirement.
		Expect []RuntimeExpect `yaml:"expect"`
	}
)

func (k *checker) handlerCase(doc *document, data []byte) {
	root := doc.parse(data)
	if root == nil {
		return
	}
	listOf(root, "expect")
	if beside := lookup(root, "beside"); beside != nil {
		listOf(beside, "expect")
	}
	v, ok := decode[handlerDoc](doc, k.shapes, root, walker{other: reflect.TypeFor[runtimeDoc]()})
	if !ok {
		return
	}
	at := place{doc, root}
	k.head(at, v.head)
	v.Handler.Expect = v.Expect
	k.c.Handler = &v.Handler
	k.handler(at, k.c.Handler)
}

func (k *checker) runtimeCase(doc *document, data []byte) {
	root := doc.parse(data)
	if root == nil {
		return
	}
	listOf(root, "expect")
	v, ok := decode[runtimeDoc](doc, k.shapes, root, walker{other: reflect.TypeFor[handlerDoc]()})
	if !ok {
		return
	}
	at := place{doc, root}
	k.head(at, v.head)
	v.Runtime.Expect = v.Expect
	k.c.Runtime = &v.Runtime
	k.runtime(at, k.c.Runtime)
}
