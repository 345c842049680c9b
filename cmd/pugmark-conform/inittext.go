package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/subject"
)

// initLanguages is the languages that init knows commands for.
func initLanguages() []string { return []string{"python", "node", "go", "other"} }

// languageLines is the lines of a subject file that depend on the language: its
// set-up, and how its programs are called.
type languageLines struct{ setup, version, program string }

func (f initFlags) linesOf(program string) languageLines {
	root := f.root()
	switch f.language {
	case "python":
		return languageLines{
			setup: `  - [python3, -m, venv, "{cache}/venv"]
  - ["{cache}/venv/bin/pip", install, --quiet, --disable-pip-version-check, "` + root + `"]`,
			version: pythonVersion(pythonName(".")),
			program: `"{cache}/venv/bin/python", "{dir}/` + program + `.py"`,
		}
	case "node":
		return languageLines{
			setup:   `  - [npm, install, --no-save, --prefix, "{cache}", "` + root + `"]`,
			version: `[node, -p, "require(process.argv[1]).version", "` + root + `/package.json"]`,
			program: `node, "{dir}/` + program + `.mjs"`,
		}
	case "go":
		return languageLines{
			setup:   `  - [go, build, -C, "{dir}", -o, "{cache}/` + program + `", .]`,
			version: `[go, version]`,
			program: `"{cache}/` + program + `"`,
		}
	}
	return languageLines{program: `"{dir}/` + program + `"`}
}

// subjectFile is a subject file to begin with.
func (f initFlags) subjectFile() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	program := "handler"
	if f.kind == subject.KindRuntime {
		program = "runtime"
	}
	of := f.linesOf(program)
	line("# What pugmark-conform puts to the test. A command is a list of arguments, and no shell")
	line("# reads it. It runs in the folder of this file, {dir}; {cache} is kept between runs.")
	line("name: %q", f.name)
	line("kind: %s", f.kind)
	if of.setup != "" {
		line("# Run once, and again when this list changes, a file that it names, or a file in a folder")
		line("# that it names: but for reports, evidence and what tools build there (CONFORMANCE.md,")
		line("# \"Plug in a handler\").")
		line("setup:\n%s", of.setup)
		line("# Prints which version it is, for the reports.")
		line("version: %s", of.version)
	} else {
		line("# setup: commands that are run once, and again when this list changes.")
		line("# setup:\n#   - [make, -C, \"{dir}/..\", %s]", program)
		line("# version: a command that prints which version it is, for the reports.")
		line("# version: [%s, --version]", of.program)
	}
	if f.kind == subject.KindHandler {
		f.handlerLines(line, of.program)
	} else {
		f.runtimeLines(line, of.program)
	}
	line("# What fails and is known to, with a reason; `pugmark-conform run --write-known-failures`")
	line("# makes the first one.")
	line("# known-failures: known-failures.yaml")
	return []byte(b.String())
}

func (f initFlags) handlerLines(line func(string, ...any), program string) {
	line("# How the handler is reached. What stands here is put to the test.")
	line("transports:")
	line("  # Started for each invocation: records on standard input and output.")
	line("  subprocess:\n    command: [%s]", program)
	line("  # Serves POST on descriptor 3, a listening socket; PUGMARK_RPC_URL is fd://3.")
	line("  # rpc:\n  #   command: [%s]", program)
	line("  # Serves POST at a URL; {port} is a free port.")
	line("  # http:\n  #   url: http://127.0.0.1:{port}/\n  #   command: [%s, \"{port}\"]", program)
	line("# What the handler can; what is claimed must work. With `instructions` it does what the")
	line("# entry conform/instructions says, and most cases need that.")
	line("features:\n  - instructions")
	for _, feature := range subject.Features(f.kind) {
		if feature != "instructions" {
			line("  # - %s", feature)
		}
	}
}

func (f initFlags) runtimeLines(line func(string, ...any), program string) {
	line("# How the runtime is driven. {store} is a fresh folder for each case. An item that is one")
	line("# placeholder without a value is left out, and the option before it too.")
	line("commands:")
	line("  # Prints the ID of the session as its last line.")
	line("  start: [%s, start, --store, \"{store}\", --session, \"{session}\"]", program)
	line("  push: [%s, push, --store, \"{store}\", --name, \"{name}\", --type, \"{content-type}\", --encoding, \"{content-encoding}\", --schema, \"{schema-url}\", --metadata, \"{metadata}\", \"{session}\", \"{body}\"]", program)
	line("  # One invocation of the handler, {handler}; a status that is not 0 is a failed one.")
	line("  run-once: [%s, run, --once, --store, \"{store}\", \"{session}\", --, \"{handler}\"]", program)
	line("  # Prints a JSON object for each entry.")
	line("  log: [%s, log, --json, --store, \"{store}\", \"{session}\"]", program)
	line("# Or, in place of commands and faster, a program that answers a line of JSON with a line.")
	line("# driver: [%s, conform]", program)
	line("# What the runtime can; what is claimed must work, and has its command.")
	line("features:\n  - once\n  - log\n  - chosen-session")
	for _, feature := range subject.Features(f.kind) {
		if feature != "once" && feature != "log" && feature != "chosen-session" {
			line("  # - %s", feature)
		}
	}
}

// file is the subject file as a job names it.
func (f initFlags) file() string { return path.Join(filepath.ToSlash(f.into), subject.FileName) }

// jobVersion is the version that a job asks for: this one, when it is a release.
func jobVersion() string {
	if v := version(); v != "devel" && !strings.Contains(v, "-") && !strings.Contains(v, "+") {
		return v
	}
	return "main"
}

// workflow is a workflow of GitHub Actions.
func (f initFlags) workflow() []byte {
	return fmt.Appendf(nil, `# Puts the subject to the test, and fails when it does not conform.
name: pugmark-conform
on: [push, pull_request]
permissions:
  contents: read
jobs:
  conform:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: %s@%s
        with:
          subject: %q
          # known-failures: %q
      # The reports, and the evidence of what failed.
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: pugmark-conform
          path: pugmark-conform-reports
`, actionName, jobVersion(), f.file(), path.Join(filepath.ToSlash(f.into), "known-failures.yaml"))
}

// include is what makes the GitLab template a job.
func (f initFlags) include() string {
	return fmt.Sprintf(`include:
  - local: .gitlab/pugmark-conform.yml
    inputs:
      subject: %q
      version: %s
      # known-failures: %q
`, f.file(), jobVersion(), path.Join(filepath.ToSlash(f.into), "known-failures.yaml"))
}
