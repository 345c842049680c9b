package fakehandler

import (
	"fmt"
	"strconv"
	"strings"

	"pugmark.dev/conform/script"
)

// The values of Op.Read besides a number of records.
const (
	ReadAll       = "all"
	ReadLifecycle = "lifecycle"
	ReadNone      = "none"
)

// Kind names the one field of the operation that is set, as a script writes it.
// None or several is an error.
func (o Op) Kind() (string, error) {
	var set []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"read", o.Read != ""}, {"emit", o.Emit != nil}, {"pause", o.Pause != nil}, {"raw", o.Raw != nil},
		{"stderr", o.Stderr != nil}, {"framing", o.Framing != nil}, {"fetch", o.Fetch != nil}, {"wait", o.Wait != 0},
		{"wait-for", o.WaitFor != ""}, {"close", o.Close != ""}, {"grandchild", o.Grandchild != nil},
		{"answer", o.Answer != nil}, {"exit", o.Exit != nil}, {"signal", o.Signal != ""}, {"hang", o.Hang},
	} {
		if field.set {
			set = append(set, field.name)
		}
	}
	switch len(set) {
	case 0:
		return "", fmt.Errorf("an operation without a field")
	case 1:
		return set[0], nil
	}
	return "", fmt.Errorf("an operation has one field, not %s", strings.Join(set, " and "))
}

// Check returns what keeps the operation from being played, whatever the
// invocation: none or several fields, a word that no operation knows, a body of no
// form. What depends on the transport shows only when it is played.
func (o Op) Check() error {
	kind, err := o.Kind()
	if err != nil {
		return err
	}
	switch kind {
	case "read":
		_, err = o.records()
	case "emit":
		err = o.Emit.check()
	case "raw":
		_, err = o.Raw.Stored()
	case "stderr":
		_, err = o.Stderr.Stored()
	case "framing":
		err = checkFraming(*o.Framing)
	case "fetch":
		err = o.Fetch.check()
	case "wait-for":
		if strings.ContainsAny(o.WaitFor, `/\`) {
			err = fmt.Errorf("%q is no name of a file in the record folder", o.WaitFor)
		}
	case "close":
		if o.Close != "stdin" && o.Close != "stdout" {
			err = fmt.Errorf("what can be closed is stdin and stdout, not %q", o.Close)
		}
	case "grandchild":
		err = o.Grandchild.check()
	case "answer":
		err = checkAnswer(*o.Answer)
	case "exit":
		if *o.Exit < 0 || *o.Exit > 255 {
			err = fmt.Errorf("%d is no exit status", *o.Exit)
		}
	case "signal":
		_, err = signalNumber(o.Signal)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return nil
}

// records is how many records a read is for; -1 for the words.
func (o Op) records() (int, error) {
	switch o.Read {
	case ReadAll, ReadLifecycle, ReadNone:
		return -1, nil
	}
	n, err := strconv.Atoi(o.Read)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("all, lifecycle, none or a number of records, not %q", o.Read)
	}
	return n, nil
}

func (e *Emit) check() error {
	if e.Times < 0 {
		return fmt.Errorf("a record can't be written %d times", e.Times)
	}
	if e.Body == nil {
		return nil
	}
	_, err := e.Body.Stored()
	return err
}

// FileOf returns the name of the file that a uri stands for, written {file:NAME}.
func FileOf(uri string) (name string, ok bool) {
	name, ok = strings.CutPrefix(uri, "{file:")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "}")
}

func (f *Fetch) check() error {
	set := 0
	for _, is := range []bool{f.Entries, f.Name != "", f.Object != "", f.Memory != "", f.MemoryPath != ""} {
		if is {
			set++
		}
	}
	if set != 1 {
		return fmt.Errorf("one of entries, name, object, memory and memory-path is wanted")
	}
	if f.Parallel < 0 {
		return fmt.Errorf("requests can't be made %d at a time", f.Parallel)
	}
	return nil
}

func (g *Grandchild) check() error {
	for _, name := range g.Holds {
		if name != "stdout" && name != "stderr" {
			return fmt.Errorf("what it can hold is stdout and stderr, not %q", name)
		}
	}
	return nil
}

func checkFraming(f script.Framing) error {
	switch f.Style {
	case script.Compact, script.Pretty, script.Tabs, script.Carriage, script.Escaped, script.Reversed:
	default:
		return fmt.Errorf("unknown style %q", f.Style)
	}
	if f.Chunk < 0 {
		return fmt.Errorf("a write can't have %d bytes", f.Chunk)
	}
	return nil
}

func checkAnswer(a script.Answer) error {
	if a.Status != 0 && (a.Status < 200 || a.Status > 999) {
		return fmt.Errorf("%d is no status of a final answer", a.Status)
	}
	if a.Truncate != nil && *a.Truncate < 0 {
		return fmt.Errorf("an answer can't be cut after %d bytes", *a.Truncate)
	}
	if a.Body == nil {
		return nil
	}
	_, err := a.Body.Stored()
	return err
}
