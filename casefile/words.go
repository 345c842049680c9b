package casefile

import (
	"maps"
	"reflect"
	"slices"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/spec"
)

// The kinds of a case: the first segment of its ID.
const (
	KindHandler = "handler"
	KindRuntime = "runtime"
)

// Transports returns the transports of section 2; rpc is the HTTP transport on
// a socket that the runtime made (sections 13 and 15).
func Transports() []string { return []string{"subprocess", "rpc", "http"} }

// Features returns the features that a case of the kind may name in `needs`: what
// a subject of that kind may claim. Nil for what is no kind.
func Features(kind string) []string { return spec.Features(spec.Side(kind)) }

// slot names a field of a case by its type and its YAML key.
type slot struct {
	owner reflect.Type
	key   string
}

// words returns the fields that hold one of a closed list of words. The loader,
// the schema and the suggestions for misspelt words all read it.
func words() map[slot][]string {
	rules := slices.Sorted(maps.Keys(StreamRules()))
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	return map[slot][]string{
		{reflect.TypeFor[head](), "transports"}:              Transports(),
		{reflect.TypeFor[KnownFailure](), "transport"}:       Transports(),
		{reflect.TypeFor[KnownFailure](), "verdict"}:         {"fail", "crash", "hang", "not-testable"},
		{reflect.TypeFor[HandlerExpect](), "exit"}:           {"0", "failure", "any"},
		{reflect.TypeFor[HandlerExpect](), "stream"}:         rules,
		{reflect.TypeFor[Fed](), "stream"}:                   rules,
		{reflect.TypeFor[Fed](), "lifecycle"}:                {"start", "fork", "wake", "none"},
		{reflect.TypeFor[EventMatch](), "event"}:             {"start", "fork", "wake", "push"},
		{reflect.TypeFor[FetchMatch](), "method"}:            methods,
		{reflect.TypeFor[ControlMatch](), "status"}:          {"running", "stopped", "unknown"},
		{reflect.TypeFor[Runtime](), "run"}:                  {"once", "idle"},
		{reflect.TypeFor[RuntimeExpect](), "run"}:            {"success", "failure"},
		{reflect.TypeFor[RuntimeExpect](), "types"}:          snapshotTypes(),
		{reflect.TypeFor[SnapshotMatch](), "type"}:           snapshotTypes(),
		{reflect.TypeFor[RequestMatch](), "method"}:          methods,
		{reflect.TypeFor[script.Framing](), "style"}:         styles(),
		{reflect.TypeFor[script.Body](), "encoding"}:         {"gzip", "zstd"},
		{reflect.TypeFor[fakeruntime.Record](), "event"}:     {"memory", "push", "start", "fork", "wake", "protocol"},
		{reflect.TypeFor[fakeruntime.Record](), "by"}:        {"url", "data", "both"},
		{reflect.TypeFor[fakeruntime.Instruction](), "op"}:   InstructionOps(),
		{reflect.TypeFor[fakeruntime.Instruction](), "as"}:   {"text", "json", "bytes"},
		{reflect.TypeFor[fakehandler.Op](), "close"}:         {"stdin", "stdout"},
		{reflect.TypeFor[fakehandler.Op](), "signal"}:        {"KILL", "SEGV", "TERM"},
		{reflect.TypeFor[fakehandler.Fetch](), "method"}:     methods,
		{reflect.TypeFor[fakehandler.Grandchild](), "holds"}: {"stdout", "stderr"},
	}
}

// numbers returns the fields of text that may be written as a bare number.
func numbers() map[slot]bool {
	return map[slot]bool{
		{reflect.TypeFor[HandlerExpect](), "exit"}:  true,
		{reflect.TypeFor[fakehandler.Op](), "read"}: true,
	}
}

// TypePushed stands, in what a case wants, for the two types that a pushed
// snapshot may have (S3/types).
const TypePushed = "pushed"

func snapshotTypes() []string { return []string{"normal", "provisional", "queueing", TypePushed} }

func styles() []string {
	var names []string
	for _, s := range []script.Style{script.Pretty, script.Tabs, script.Carriage, script.Escaped, script.Reversed} {
		names = append(names, string(s))
	}
	return names
}
