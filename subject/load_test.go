//go:build unix

package subject

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestAHandlerFileLoads(t *testing.T) {
	got := parse(t, "\ufeff"+`# a comment
name: my-sdk
kind: handler
setup:
  - npm ci --prefix {cache}
  - &pip ["{cache}/bin/pip", install, "a b", 8080, true]
  - *pip
version: node --version
transports:
  subprocess: {command: [node, "{dir}/handler.js"]}
  rpc: {command: node handler.js}
  http: {url: "http://localhost:{port}/h?x={}", command: [node, handler.js, "--port={port}", "${PORT}"]}
features: [instructions, concurrent]
known-failures: known.txt
`)
	pip := Args{"{cache}/bin/pip", "install", "a b", "8080", "true"}
	want := &File{
		Name: "my-sdk", Kind: "handler",
		Setup:   []Args{{"npm", "ci", "--prefix", "{cache}"}, pip, pip},
		Version: Args{"node", "--version"},
		Transports: Transports{
			Subprocess: &CommandTransport{Args{"node", "{dir}/handler.js"}},
			RPC:        &CommandTransport{Args{"node", "handler.js"}},
			HTTP: &HTTPTransport{URL: "http://localhost:{port}/h?x={}",
				Command: Args{"node", "handler.js", "--port={port}", "${PORT}"}},
		},
		Features:      []string{"instructions", "concurrent"},
		KnownFailures: "known.txt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	const handler = "name: a\nkind: handler\n"
	const runtime = "name: a\nkind: runtime\n"
	const subprocess = "transports: {subprocess: {command: [x]}}\n"
	for _, test := range []struct {
		name, text string
		want       []string // each without the file's name
	}{
		{"empty", "", []string{"1:1: the file is empty"}},
		{"a list", "[a]", []string{"1:1: want a mapping (commands, driver, features, kind, known-failures, mask, name, setup, transports, version), got a list"}},
		{"no YAML", handler + "a: [b\n", []string{"3:1: no YAML: did not find expected ',' or ']'"}},
		{"a tab, which YAML forbids", "name: a\n\tkind: x\n", []string{"2:1: no YAML: found a tab character that violates indentation"}},
		{"a value after a value", "name: a\nkind: 'b' c\n", []string{"2:1: no YAML: did not find expected key"}},
		{"not UTF-8", "name: \xff\n", []string{"1:1: not UTF-8 text"}},
		{"two documents", handler + subprocess + "---\nname: b\n", []string{"4:1: a second YAML document, which would never be looked at: one file, one subject"}},
		{"typo at the top", handler + "transport: {subprocess: {command: [x]}}\n", []string{
			"1:1: a handler has at least one of the `transports` subprocess, rpc, http",
			"3:1: unknown key `transport`, did you mean `transports`?"}},
		{"typo below", handler + "transports:\n  subproces: {command: [x]}\n", []string{
			"4:3: `transports`: unknown key `subproces`, did you mean `subprocess`?",
			"4:3: a handler has at least one of the `transports` subprocess, rpc, http"}},
		{"typo at the bottom", handler + "transports:\n  rpc: {comand: [x]}\n", []string{
			"4:8: `transports.rpc` has no `command`",
			"4:9: `transports.rpc`: unknown key `comand`, did you mean `command`?"}},
		{"a key that is like none", handler + subprocess + "zzz: 1\n", []string{
			"4:1: unknown key `zzz`, want one of `commands`, `driver`, `features`, `kind`, `known-failures`, `mask`, `name`, `setup`, `transports`, `version`"}},
		{"a key twice", handler + subprocess + "name: b\n", []string{"4:1: the key `name` is given twice, first on line 1"}},
		{"null", handler + subprocess + "version:\n", []string{"4:9: `version` has no value: leave it out, or quote the text"}},
		{"merge key", "x: &x {}\n<<: *x\n" + handler + subprocess, []string{
			"1:1: unknown key `x`, want one of `commands`, `driver`, `features`, `kind`, `known-failures`, `mask`, `name`, `setup`, `transports`, `version`",
			"2:1: merge keys are not taken here: write the keys out"}},
		{"no name", "kind: handler\n" + subprocess, []string{"1:1: the key `name` is missing: it is how reports call the subject"}},
		{"name of two lines", "name: \"a\\nb\"\nkind: handler\n" + subprocess, []string{"1:7: `name` is 1 to 100 bytes of one line, with no space around them"}},
		{"name that leaves the folder of evidence", "name: ../a\nkind: handler\n" + subprocess, []string{"1:7: `name` names the folder of the evidence too: it has no slash, and is more than dots"}},
		{"name of dots", "name: ..\nkind: handler\n" + subprocess, []string{"1:7: `name` names the folder of the evidence too: it has no slash, and is more than dots"}},
		{"no kind", "name: a\n" + subprocess, []string{"1:1: the key `kind` is missing: it is `handler` or `runtime`"}},
		{"wrong kind", "name: a\nkind: handlers\n", []string{"2:7: unknown `kind` \"handlers\", did you mean `handler`?"}},
		{"no transport", handler, []string{"1:1: a handler has at least one of the `transports` subprocess, rpc, http"}},
		{"commands of a handler", handler + subprocess + "commands: {start: [x]}\ndriver: [x]\n", []string{
			"4:11: `commands` belongs to a runtime: a handler has `transports`",
			"5:9: `driver` belongs to a runtime: a handler has `transports`"}},
		{"transports of a runtime", runtime + subprocess + "driver: x\n", []string{"3:13: `transports` belong to a handler: a runtime has `commands` or a `driver`"}},
		{"neither commands nor driver", runtime, []string{"1:1: a runtime has `commands` or a `driver`, and this one has neither"}},
		{"both", runtime + "commands: {start: [x]}\ndriver: [x]\n", []string{"4:9: a runtime has `commands` or a `driver`, not both"}},
		{"no commands", runtime + "commands: {}\n", []string{"3:11: `commands` is empty"}},
		{"unknown command", runtime + "commands:\n  strat: [x]\n", []string{"4:3: `commands`: unknown key `strat`, did you mean `start`?"}},
		{"command without what it is about", runtime + "commands:\n  push: [x, \"{session}\"]\n", []string{"4:9: `commands.push` has no {body}"}},
		{"feature of the other kind", handler + subprocess + "features: [instructions, inspect]\n", []string{
			"4:26: unknown feature `inspect` of a handler, want one of `instructions`, `fork`, `session`, `write-remote`, `memory`, `typed-events`, `load`, `encode`, `tracing`, `sdk-page`, `helpers`, `schema-url`, `minimal-handler`, `concurrent`"}},
		{"feature misspelt and twice", handler + subprocess + "features: [fork, fork, sesion]\n", []string{
			"4:18: the feature `fork` is claimed twice", "4:24: unknown feature `sesion` of a handler, did you mean `session`?"}},
		{"shell line", handler + "transports: {subprocess: {command: python 'my handler.py'}}\n", []string{
			"3:36: `transports.subprocess.command`: a command is never a shell line, and this one has \"'\": write a list, [program, argument, ...], with [sh, -c, ...] if it needs a shell"}},
		{"shell operator", handler + subprocess + "version: make && x --version\n", []string{
			"4:10: `version`: a command is never a shell line, and this one has \"&\": write a list, [program, argument, ...], with [sh, -c, ...] if it needs a shell"}},
		{"no program", handler + "transports: {subprocess: {command: []}}\nversion: \"  \"\n", []string{
			"3:36: `transports.subprocess.command` names no program", "4:10: `version` names no program"}},
		{"no text in a list", handler + "setup: [[a, [b]], [c, ~]]\n" + subprocess, []string{
			"3:13: `setup.1`: want text, got a list", "3:23: `setup.2`: want text, got nothing"}},
		{"setup is no list", handler + "setup: make\n" + subprocess, []string{"3:8: `setup`: want a list of commands, got \"make\""}},
		{"empty setup", handler + "setup: []\n" + subprocess, []string{"3:8: the list `setup` is empty: leave it out"}},
		{"unknown placeholder", handler + "setup:\n  - [pip, \"{cahce}/x\"]\n" + subprocess, []string{"4:11: `setup.1`: unknown placeholder {cahce}, did you mean {cache}?"}},
		{"placeholder of another place", handler + "transports: {rpc: {command: [x, \"{port}\"]}}\n", []string{
			"3:33: `transports.rpc.command`: {port} has no meaning here, only {cache}, {dir} have"}},
		{"placeholder like none", handler + "transports: {rpc: {command: [x, \"{elsewhere}\"]}}\n", []string{
			"3:33: `transports.rpc.command`: unknown placeholder {elsewhere}, known here are {cache}, {dir}"}},
		{"placeholder of another operation", runtime + "commands: {log: [x, \"{session}\", \"{body}\"]}\n", []string{
			"3:34: `commands.log`: {body} has no meaning here, only {cache}, {dir}, {store}, {session} have"}},
		{"handler inside an item", runtime + "commands: {run: [x, \"{session}\", \"--with={handler}\"]}\n", []string{
			"3:34: `commands.run`: {handler} is a list, so it stands alone in its item"}},
		{"handlers without an option", runtime + "commands: {run-named: [\"{session}\", \"{handlers}\"]}\n", []string{
			"3:37: `commands.run-named`: {handlers} follows the option that is repeated for each handler"}},
		{"claims without their templates", runtime + "features: [once, rpc, log, until-idle]\ncommands:\n  run-rpc: [x, \"{session}\", \"{handler}\"]\n", []string{
			"3:12: `once` is claimed, and there is no `commands.run-once`",
			"3:18: `rpc` and `once` are claimed, and there is no `commands.run-rpc-once`",
			"3:23: `log` is claimed, and there is no `commands.log`",
			"3:28: `until-idle` is claimed, and there is no `commands.run`"}},
		{"claims that start can't carry", runtime + "features: [agent, chosen-session]\ncommands:\n  start: [x, \"{agent}\"]\n", []string{
			"3:19: `chosen-session` is claimed, and `commands.start` has no {session}"}},
		{"no URL", handler + "transports:\n  http: {command: [x]}\n", []string{"4:9: `transports.http` has no `url`"}},
		{"no http", handler + "transports:\n  http: {url: localhost}\n", []string{"4:15: `transports.http.url` is no http or https URL: \"localhost\""}},
		{"port that nobody is told", handler + "transports:\n  http: {url: \"http://a:{port}\", command: [x]}\n", []string{
			"4:43: the `url` has {port}, so the `command` has to be told it: it has no {port}"}},
		{"port that nobody uses", handler + "transports:\n  http: {url: \"http://a:80\", command: [x, \"{port}\"]}\n", []string{
			"4:15: the `command` is told {port}, so the `url` has to have it: it has no {port}"}},
		{"port without a command", handler + "transports:\n  http: {url: \"http://a:{port}\"}\n", []string{
			"4:15: {port} is the port that `command` is given, and there is no `command`"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Parse("my/subject.yaml", []byte(test.text))
			require.Nil(t, f)
			var wrong *FileError
			require.ErrorAs(t, err, &wrong)
			for i, line := range test.want {
				test.want[i] = "my/subject.yaml:" + line
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

// A key that only the type or only the decoder knows is lost on the way.
func TestEveryKeyOfTheTypeIsDecoded(t *testing.T) {
	handler := &File{
		Name: "a", Kind: KindHandler, Setup: []Args{{"x"}}, Version: Args{"x"}, Features: Features(KindHandler), KnownFailures: "k", Mask: []string{"M"},
		Transports: Transports{&CommandTransport{Args{"s"}}, &CommandTransport{Args{"r"}}, &HTTPTransport{"http://a", Args{"h"}}},
	}
	operations := &File{Name: "a", Kind: KindRuntime, Features: Features(KindRuntime), Commands: map[string]Args{}}
	for _, op := range CommandNames() {
		operations.Commands[op] = Args{"x"}
		for _, word := range operands(op) {
			operations.Commands[op] = append(operations.Commands[op], "--x", "{"+word+"}")
		}
	}
	for name, want := range map[string]*File{
		"handler": handler, "commands": operations, "driver": {Name: "a", Kind: KindRuntime, Driver: Args{"d"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.Marshal(want)
			require.NoError(t, err)
			if diff := cmp.Diff(want, parse(t, string(text))); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	_, err := Load("testdata/none.yaml")
	require.EqualError(t, err, "subject file: open testdata/none.yaml: no such file or directory")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheFilesInTheTreeLoad(t *testing.T) {
	files, err := filepath.Glob("../subjects/*/" + FileName)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "testdata/runtime/"+FileName) {
		_, err := Load(file)
		require.NoError(t, err)
	}
}
