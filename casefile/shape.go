package casefile

import (
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// field is one key of a mapping, as the struct that it is decoded into has it.
type field struct {
	key      string
	typ      reflect.Type
	required bool
	// words is what the value may be, when that is a closed list.
	words []string
	// number lets text be written as a bare number.
	number bool
}

// shapes knows the keys of every struct that cases are made of. Its zero value
// is not ready; it is for one goroutine.
type shapes struct {
	known   map[reflect.Type][]field
	words   map[slot][]string
	numbers map[slot]bool
}

func newShapes() *shapes {
	return &shapes{known: map[reflect.Type][]field{}, words: words(), numbers: numbers()}
}

// of returns the fields of a struct in order, inlined ones in their place.
func (s *shapes) of(t reflect.Type) []field {
	if fields, ok := s.known[t]; ok {
		return fields
	}
	fields := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case strings.Contains(options, "inline"):
			fields = append(fields, s.of(f.Type)...)
		default:
			at := slot{t, name}
			fields = append(fields, field{
				key: name, typ: f.Type, required: !strings.Contains(options, "omitempty"),
				words: s.words[at], number: s.numbers[at],
			})
		}
	}
	s.known[t] = fields
	return fields
}

func (s *shapes) keys(t reflect.Type) []string {
	var keys []string
	for _, f := range s.of(t) {
		keys = append(keys, f.key)
	}
	return keys
}

func (s *shapes) find(t reflect.Type, key string) (field, bool) {
	for _, f := range s.of(t) {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

// within returns the shortest path of keys below a struct to a struct that has
// the key, not deeper than some levels.
func (s *shapes) within(t reflect.Type, key string, levels int) (string, bool) {
	type spot struct {
		path string
		typ  reflect.Type
	}
	spots := []spot{{"", t}}
	for range levels {
		var next []spot
		for _, at := range spots {
			for _, f := range s.of(at.typ) {
				inner := record(f.typ)
				if inner == nil {
					continue
				}
				path := strings.TrimPrefix(at.path+"."+f.key, ".")
				if _, ok := s.find(inner, key); ok {
					return path, true
				}
				next = append(next, spot{path, inner})
			}
		}
		spots = next
	}
	return "", false
}

// record returns the struct that a field holds: itself, behind a pointer, or as
// the items of a list or the values of a map. Nil when it holds none.
func record(t reflect.Type) reflect.Type {
	for {
		switch {
		case isLeaf(t):
			return nil
		case t.Kind() == reflect.Struct:
			return t
		case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
			t = t.Elem()
		default:
			return nil
		}
	}
}

// isLeaf reports whether values of the type read themselves from YAML.
func isLeaf(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
}
