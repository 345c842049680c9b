//go:build unix

package subject

import (
	"errors"
	"testing"
)

// Whatever the bytes, there is a file or a list of problems with places, and a
// file that is taken has what the harness relies on.
func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nkind: handler\ntransports: {subprocess: {command: [x]}}\n"))
	f.Add([]byte("name: a\nkind: runtime\ncommands: {run: [x, '{session}', '{handler}']}\n"))
	f.Add([]byte("a: &x {transports: *x}\n<<: [*x]\n"))
	f.Add([]byte("setup: &x [[a], *x]\nkind: *x\n? [a]\n: b\n"))
	f.Add([]byte("--- !!binary x\n...\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err == nil {
			if file.Name == "" || Features(file.Kind) == nil {
				t.Errorf("taken: %+v", file)
			}
			for op, args := range file.Commands {
				if len(args) == 0 {
					t.Errorf("%s has no program", op)
				}
				fill(args, filling{repeated: map[string][]string{"handlers": {}, "namespaces": {}}})
			}
			return
		}
		var wrong *FileError
		if !errors.As(err, &wrong) || len(wrong.Problems) == 0 {
			t.Fatalf("no problems: %v", err)
		}
		for _, p := range wrong.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("no place: %+v", p)
			}
		}
	})
}
