package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
)

// maxBody bounds a decoded body, in bytes, so that a few packed ones can't use up
// the memory.
const maxBody = 64 << 20

// decoded unpacks a body from its content coding.
func decoded(data []byte, encoding string) ([]byte, error) {
	if encoding == "" {
		return data, nil
	}
	r, err := protocol.Decompress(encoding, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	plain, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(plain) > maxBody:
		return nil, fmt.Errorf("a decoded body of more than %d bytes", maxBody)
	}
	return plain, nil
}

// bodyMode says how bodies that a case writes as JSON are compared.
type bodyMode int

const (
	// exactBody: byte by byte. What passes through a peer must not change.
	exactBody bodyMode = iota
	// jsonBody: by value. How an SDK lays out the JSON that it writes is its own
	// affair.
	jsonBody
)

// compareBody compares a decoded body with the wanted one.
func compareBody(want *script.Body, got []byte, mode bodyMode) (f finding, equal bool, err error) {
	plain, err := want.Plain()
	if err != nil {
		return finding{}, false, err
	}
	if bytes.Equal(plain, got) || mode == jsonBody && want.JSON != nil && sameJSON(plain, got) {
		return finding{}, true, nil
	}
	f.want, f.got = describe(plain), describe(got)
	_, f.diff = differ(plain, got)
	return f, false, nil
}

// describe shows a body: its length and its first bytes.
func describe(b []byte) string { return fmt.Sprintf("%d bytes, %s", len(b), quoteBytes(b)) }

// sameJSON compares two JSON texts by value, numbers exactly.
func sameJSON(a, b []byte) bool {
	x, errA := jsonValue(a)
	y, errB := jsonValue(b)
	return errA == nil && errB == nil && equalJSON(x, y)
}

func jsonValue(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func equalJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		m, okM := number(x.String())
		n, okN := number(y.String())
		return x == y || okM && okN && m.Cmp(n) == 0
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalJSON)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// readAnswer reads the JSON body of an answer of the agreement. Field names are
// exact, and unknown ones are passed over.
func readAnswer(r *record, into any) error {
	d := r.data()
	if len(d.faults) > 0 && d.bytes == nil {
		return errors.New(d.faults[0].what)
	}
	plain, err := decoded(d.bytes, r.str("content-encoding"))
	if err != nil {
		return err
	}
	return strict.Unmarshal(plain, into)
}

// canonical lists the records so that two of them are equal when they say the
// same: fields by name, bodies decoded.
func (s *stream) canonical() (list []string) {
	for i := range s.records {
		r := &s.records[i]
		if r.isNoOp(s.dir) {
			continue
		}
		var fields []string
		for _, f := range r.fields {
			if isZero(f.raw) {
				continue
			}
			value := string(f.raw)
			switch {
			case f.name == "data":
				value = describe(r.data().bytes) + protocol.Digest(r.data().bytes)
			case f.raw[0] == '"':
				value = quote(unquote(f.raw))
			case f.raw[0] == '{':
				if v, err := jsonValue(f.raw); err == nil {
					text, _ := json.Marshal(v) // sorts the keys; a decoded value encodes
					value = string(text)
				}
			}
			fields = append(fields, f.name+"="+clip(value, 500))
		}
		slices.Sort(fields)
		list = append(list, strings.Join(fields, " "))
	}
	return list
}
