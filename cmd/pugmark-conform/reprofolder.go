package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
	"pugmark.dev/conform/transcript"
)

// reproTool is repro.py: what run.sh needs besides a shell.
//
//go:embed repro/repro.py
var reproTool []byte

// writeRepro writes the folder. It is there whole or not at all.
func writeRepro(dir string, r *recorded, registry *spec.Spec) (err error) {
	p, err := newReproPlan(r)
	if err != nil {
		return err
	}
	if r.command != nil {
		p.url = r.command.URL
	}
	plan, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	if err := newFolder(dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for _, name := range []string{"bodies", "recorded"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	put := func(name string, data []byte, mode os.FileMode) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, mode)
		}
	}
	put("README.md", []byte(reproReadme(p, r, registry)), 0o666)
	put("run.sh", []byte(p.script(r)), 0o777)
	put("repro.py", reproTool, 0o666)
	put(reproPlanFile, append(plan, '\n'), 0o666)
	for name, body := range p.bodies {
		put(filepath.Join("bodies", name), body, 0o666)
	}
	for i, inv := range p.Invocations {
		put(fmt.Sprintf("%d.input", i+1), inv.input, 0o666)
		outputs, _ := inv.inv.Transcript.Outputs()
		put(filepath.Join("recorded", fmt.Sprintf("%d.outputs", i+1)), outputs, 0o666)
		if stderr, _ := inv.inv.Transcript.Stream(transcript.Stderr); len(stderr) > 0 {
			if end := inv.inv.Transcript.Tail(transcript.Stderr); len(end) > 0 {
				stderr = fmt.Appendf(stderr, "\n... %d bytes left out ...\n%s", inv.inv.Transcript.Missing(transcript.Stderr), end)
			}
			put(filepath.Join("recorded", fmt.Sprintf("%d.stderr", i+1)), stderr, 0o666)
		}
	}
	return err
}

// reproReadme says in plain words what is wrong.
func reproReadme(p *reproPlan, r *recorded, registry *spec.Spec) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# %s over %s\n", p.Case, p.Transport)
	line("%s\n", r.c.Why)
	line("The handler %s was given the input in this folder, and the case ended in **%s**.", inCode(r.evidence.Subject), r.judged.Verdict)
	if r.judged.Reason != "" {
		line("\n%s", indentedBlock(r.judged.Reason))
	}
	for _, k := range r.judged.Checks {
		if k.Verdict != result.Fail && k.Verdict != result.Warn {
			continue
		}
		line("\n## %s", k.Requirement)
		if q, ok := registry.Requirement(k.Requirement); ok {
			line("\n%s, section %s: %s", q.Word(), q.Section, q.Text)
		}
		for _, id := range k.Readings {
			if reading, ok := registry.Reading(id); ok {
				line("\nThe text is open here; it rests on reading %s: %s", id, reading.Reading)
			}
		}
		line("\n%s", indentedBlock(fmt.Sprintf("where  %s\nwant   %s\ngot    %s\n%s", k.Where, k.Want, k.Got, k.Diff)))
	}
	line(`
## See it

    ./run.sh

It ends with status 0 when the handler behaves, 1 when the failure shows, and 2 when
neither can be told. Another command is given as arguments: ./run.sh COMMAND [ARG...].
It needs a POSIX shell, python3 (3.8 or later, nothing but its standard library)%s.
It ends the handler, and what the handler started, as the harness does: when its time is
up, when it wrote more than it may, and after it. What left the handler's process group
is found on Linux only.
`, map[bool]string{true: " and curl (7.63 or later)"}[p.Transport != "subprocess"])
	line("| file | holds |\n|---|---|")
	for i, inv := range p.Invocations {
		line("| `%d.input` | what the handler reads, byte for byte%s |", i+1, map[bool]string{true: ": the control"}[inv.Role == "control"])
		line("| `recorded/%d.outputs`, `.stderr` | what it wrote in the run that this is from |", i+1)
	}
	line("| `bodies/` | what the URLs of the input answer; `repro.py` serves them at the ports that the input names |")
	line("| `repro.json` | how they are served, and what is wanted, for `repro.py` |")
	line("| `out/` | after a run: what the handler wrote this time, and which requests it made |")
	line("\nA port of the input that somebody else has by now is replaced in `out/`, by one of as many digits.")
	line("The comparison in `repro.py` is a short one. Where it can't tell, only the harness can:\n")
	line("%s", indentedBlock(r.judged.Rerun))
	return b.String()
}

// indentedBlock is text as a block of code of Markdown, whatever stands in it.
func indentedBlock(text string) string {
	lines := strings.Split(strings.TrimRight(result.Visible(text), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("    "+l, " ")
	}
	return strings.Join(lines, "\n")
}

// inCode is a word of a subject's as code of Markdown.
func inCode(word string) string {
	return "`" + strings.ReplaceAll(result.Visible(word), "`", "'") + "`"
}
