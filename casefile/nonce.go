package casefile

import (
	"bytes"
	"reflect"
	"strings"
)

// Nonce is the placeholder for a text that is another one in every run, and the
// same one on both sides of a case. What stands in its place has its length, so
// that a body is as long as the file shows it, and digits only.
const Nonce = "{nonce}"

// WithNonce returns the case with the nonce in the place of every [Nonce], in the
// values and keys of what happens and of what must be seen. Whatever has no
// placeholder is shared with c, which stays as it is. An empty nonce puts nothing
// in its place.
func (c *Case) WithNonce(nonce string) *Case {
	if nonce == "" {
		return c
	}
	s := seeder{nonce}
	out := *c
	out.Handler, _ = s.seeded(reflect.ValueOf(c.Handler)).Interface().(*Handler)
	out.Runtime, _ = s.seeded(reflect.ValueOf(c.Runtime)).Interface().(*Runtime)
	out.Story, _ = s.seeded(reflect.ValueOf(c.Story)).Interface().(*Story)
	return &out
}

// Varies reports whether a [Nonce] stands anywhere in the case.
func (c *Case) Varies() bool {
	return mentions(reflect.ValueOf(c.Handler)) || mentions(reflect.ValueOf(c.Runtime)) || mentions(reflect.ValueOf(c.Story))
}

// seeder replaces the placeholder in values of any type.
type seeder struct{ nonce string }

// seeded is v when nothing in it holds the placeholder, else a copy that differs
// along the way to each placeholder.
func (s seeder) seeded(v reflect.Value) reflect.Value {
	if !mentions(v) {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(strings.ReplaceAll(v.String(), Nonce, s.nonce))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(s.seeded(v.Elem()))
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			out.SetBytes(bytes.ReplaceAll(v.Bytes(), []byte(Nonce), []byte(s.nonce)))
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(s.seeded(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for at := v.MapRange(); at.Next(); {
			out.SetMapIndex(s.seeded(at.Key()), s.seeded(at.Value()))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			out.Field(i).Set(s.seeded(v.Field(i)))
		}
	}
	return out
}

// mentions reports whether the placeholder stands anywhere in v.
func mentions(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(v.String(), Nonce)
	case reflect.Pointer:
		return !v.IsNil() && mentions(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return bytes.Contains(v.Bytes(), []byte(Nonce))
		}
		for i := range v.Len() {
			if mentions(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for at := v.MapRange(); at.Next(); {
			if mentions(at.Key()) || mentions(at.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if mentions(v.Field(i)) {
				return true
			}
		}
	}
	return false
}
