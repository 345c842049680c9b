package result

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pugmark.dev/conform/transcript"
)

// The files of an evidence folder. Beside them, unless the case passed or was not
// run, stand the streams of each invocation as the bytes that they were: 1.inputs,
// 1.outputs, 1.stderr, with the role after the number where there is one
// (1-control.inputs). A stream that was too long to be kept whole has head, count
// and tail in a file with .cut behind its name. The judge reads none of these:
// they repeat what evidence.json holds, for people and their tools, and to make
// files is what storing costs.
const (
	// EvidenceV1 is the schema that evidence.json names. Evidence of another schema is
	// refused whole.
	EvidenceV1 = "pugmark-conform/evidence/v1"

	evidenceFile = "evidence.json"
	caseFile     = "case.json"
	cutSuffix    = ".cut"
)

// EvidenceFolder is the path of the folder that holds the evidence of a case on a
// transport, below the folder of the run and with slashes.
func EvidenceFolder(id, transport string) string { return id + "@" + transport }

// WriteEvidence stores what one case recorded, and what was judged of it, in a
// folder of its own below root, and returns the folder's path below root, with
// slashes. What an earlier run stored there is replaced. It is safe for concurrent
// use with different cases or transports.
//
// What is stored is bounded: see [MaxStream] and its neighbours. Evidence within
// the bounds comes back from [ReadEvidence] as it was, but for bytes that are no
// UTF-8 outside of the recorded streams ([Visible]). Files are readable by their
// owner only, since the environment of handlers is among what they hold.
func WriteEvidence(root string, e *Evidence, c *Case) (string, error) {
	folder := EvidenceFolder(e.Case, e.Transport)
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("store the evidence of %s on %s: %w", e.Case, e.Transport, err)
	}
	if strings.ContainsAny(e.Transport, `/\`) || !filepath.IsLocal(filepath.FromSlash(folder)) {
		return fail(fmt.Errorf("%q is no path below the folder of the run", folder))
	}
	dir := filepath.Join(root, filepath.FromSlash(folder))
	if err := freshFolder(dir); err != nil {
		return fail(err)
	}
	put := func(name string, data []byte) error { return os.WriteFile(filepath.Join(dir, name), data, 0o600) }
	if c.Verdict != Pass && c.Verdict != NotApplicable {
		for i := range e.Invocations {
			for _, f := range streamFiles(&e.Invocations[i], i+1) {
				if err := put(f.name, f.data); err != nil {
					return fail(err)
				}
			}
		}
	}
	// Events stand at the sixth level: run, invocations, invocation, transcript, events.
	evidence, err := EncodeJSON(stored{EvidenceV1, *bounded(e)}, 5)
	if err != nil {
		return fail(err)
	}
	judged, err := EncodeJSON(c.Bounded(), 4)
	if err != nil {
		return fail(err)
	}
	// case.json last: a folder without it was not finished.
	if err := errors.Join(put(evidenceFile, evidence), put(caseFile, judged)); err != nil {
		return fail(err)
	}
	return folder, nil
}

// stored is what evidence.json holds.
type stored struct {
	Schema string `json:"schema"`
	Evidence
}

// checkSchema makes sure that a file is of the schema that this program reads,
// before anything else in it is held against that.
func checkSchema(file string) error {
	data, err := ReadFile(file, MaxFile)
	if err != nil {
		return err
	}
	var head struct {
		Schema *string `json:"schema"`
	}
	switch err := json.Unmarshal(data, &head, jsontext.AllowDuplicateNames(true)); {
	case err != nil:
		return nil // what is wrong with it is said better by whoever reads all of it
	case head.Schema == nil:
		return fmt.Errorf("%s: it names no schema; %s is wanted", file, EvidenceV1)
	case *head.Schema != EvidenceV1:
		return fmt.Errorf("%s: its schema is %s; this program reads %s", file, Visible(*head.Schema), EvidenceV1)
	}
	return nil
}

// freshFolder makes the folder, or takes what WriteEvidence stored out of it.
func freshFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !isOwn(entry.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// isOwn reports whether a file of an evidence folder is one that WriteEvidence
// writes, and not what someone else put there.
func isOwn(name string) bool {
	if name == evidenceFile || name == caseFile {
		return true
	}
	name = strings.TrimSuffix(name, cutSuffix)
	number := len(name) - len(strings.TrimLeft(name, "0123456789"))
	return number > 0 && slices.Contains([]string{".inputs", ".outputs", ".stderr"}, path.Ext(name))
}

// streamFile is one stream of one invocation, as a file.
type streamFile struct {
	name string
	data []byte
}

// streamFiles returns the streams of an invocation that hold anything. Beyond
// MaxStream a quarter of it is kept from the tail: what a flood ends with often
// says more than its middle.
func streamFiles(inv *Invocation, number int) []streamFile {
	name := fmt.Sprint(number)
	if inv.Role != "" {
		name += "-" + inv.Role
	}
	t := &inv.Transcript
	var files []streamFile
	for _, of := range []struct{ suffix, stream string }{
		{".inputs", t.InputStream()}, {".outputs", t.OutputStream()}, {".stderr", transcript.Stderr},
	} {
		data, left := t.Stream(of.stream)
		switch {
		case len(data) == 0 && left == 0:
		case len(data) > MaxStream || left > 0:
			files = append(files, streamFile{name: name + of.suffix + cutSuffix, data: cut(t, of.stream)})
		default:
			files = append(files, streamFile{name: name + of.suffix, data: data})
		}
	}
	return files
}

// cut is the head and the tail of a long stream, with a line between them that
// says how much is missing, or at the end when the tail was never recorded.
func cut(t *transcript.Transcript, stream string) []byte {
	head, left := t.Stream(stream)
	tail := t.Tail(stream)
	if left == 0 { // all of it is there
		tail = head[len(head)-MaxTail:]
	}
	missing := int64(len(head)) + left
	head, tail = head[:min(len(head), MaxStream-MaxTail)], tail[max(0, len(tail)-MaxTail):]
	missing -= int64(len(head) + len(tail))
	var b bytes.Buffer
	b.Write(head)
	if len(tail) == 0 {
		fmt.Fprintf(&b, "\n... %d further bytes, not recorded ...\n", missing)
		return b.Bytes()
	}
	fmt.Fprintf(&b, "\n... %d bytes left out ...\n", missing)
	b.Write(tail)
	return b.Bytes()
}

// ReadEvidence reads back what [WriteEvidence] stored in dir. Anything that it
// would not have written is an error with file, line, column and member.
func ReadEvidence(dir string) (*Evidence, error) {
	file := filepath.Join(dir, evidenceFile)
	var s stored
	if err := checkSchema(file); err != nil {
		return nil, fmt.Errorf("read stored evidence: %w", err)
	}
	if err := read(file, &s); err != nil {
		return nil, fmt.Errorf("read stored evidence: %w", err)
	}
	e := &s.Evidence
	for i := range e.Steps {
		if output := jsontext.Value(e.Steps[i].Output); len(output) > 0 {
			// Without the line breaks that make the file readable.
			if err := output.Compact(jsontext.AllowDuplicateNames(true)); err != nil {
				return nil, fmt.Errorf("read stored evidence: output of step %d: %w", i, err)
			}
			e.Steps[i].Output = stdjson.RawMessage(output)
		}
	}
	return e, nil
}

// ReadCase reads what was judged of the evidence in dir when it was stored.
func ReadCase(dir string) (*Case, error) {
	c := new(Case)
	if err := read(filepath.Join(dir, caseFile), c); err != nil {
		return nil, fmt.Errorf("read a stored verdict: %w", err)
	}
	return c, nil
}

func read(file string, v any) error {
	data, err := ReadFile(file, MaxFile)
	if err != nil {
		return err
	}
	if err := repeated(data); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := decode(data, v, jsonOptions()); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// repeated is an error for the first member that stands twice in its object. Only
// what a runtime printed, the output of a step, may have such members: it is kept
// as it was.
func repeated(data []byte) error {
	var any jsontext.Value
	err := json.Unmarshal(data, &any)
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) || !errors.Is(err, jsontext.ErrDuplicateName) {
		return nil // what else may be wrong is said by whoever reads the members
	}
	at := strings.Split(string(syntactic.JSONPointer), "/")
	if len(at) > 4 && at[1] == "steps" && at[3] == "output" {
		return nil
	}
	return fmt.Errorf("%s: %w %q", place(data, syntactic.ByteOffset, syntactic.JSONPointer), syntactic.Err, syntactic.JSONPointer.LastToken())
}

// FindEvidence returns the path of every evidence folder below root, with slashes
// and in order; "." when root itself is one. None is an error.
func FindEvidence(root string) ([]string, error) {
	var folders []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != evidenceFile {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		folders = append(folders, filepath.ToSlash(folder))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for stored evidence: %w", err)
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("look for stored evidence: %s holds none", root)
	}
	slices.Sort(folders)
	return folders, nil
}
