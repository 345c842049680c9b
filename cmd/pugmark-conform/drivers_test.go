package main

import (
	"testing"

	"pugmark.dev/conform/result"
)

// What a driver answers otherwise than agreed is a verdict that says what it was.
func TestBadDriversGetAVerdict(t *testing.T) {
	b := newTable()
	for _, want := range []outcome{
		{conduct: "does-nothing", verdict: result.Fail, says: []string{"P2.1/stdio fail", "never invoked"}},
		{conduct: "nonsense", verdict: result.Crash, says: []string{"line ", "is no answer", `"the run went well"`}},
		{conduct: "not-utf8", verdict: result.Crash, says: []string{"is no answer", `\xff`}},
		{conduct: "wrong-id", verdict: result.Crash, says: []string{"there is no request 987654"}},
		{conduct: "twice", verdict: result.Crash, says: []string{"(run) was answered before"}},
		{conduct: "never", verdict: result.Hang, says: []string{"`run-once main` was still running after 2s"}},
		{conduct: "late", verdict: result.Fail, says: []string{"never invoked"}, scale: 5},
		{conduct: "half-a-line", verdict: result.Crash, says: []string{"ends in the middle of line"}},
		{conduct: "huge-line", verdict: result.Crash, says: []string{"has more than 33554432 bytes"}, scale: 20},
		{conduct: "dies", verdict: result.Crash, says: []string{"the driver has ended: exit status 3", "out of memory"}},
		{conduct: "killed", verdict: result.Crash, says: []string{"signal 9 (SIGKILL)"}},
		{conduct: "closes-stdout", verdict: result.Crash, says: []string{"the driver has closed its stdout"}},
		{conduct: "floods-stderr", verdict: result.Fail, says: []string{"never invoked"}, scale: 20},
		{conduct: "internal", verdict: result.Fail, says: []string{"disk full"}},
		{conduct: "unsupported", verdict: result.Fail, says: []string{"claims the feature once, and can't do run-once"}},
		{conduct: "unknown-kind", verdict: result.Crash, says: []string{"the kind of an error is"}},
		{conduct: "log-of-numbers", verdict: result.Crash, says: []string{"entry 1 is to be an object"}},
		{conduct: "log-of-nothing", verdict: result.Crash, says: []string{"`entries` is to be a list"}},
		{conduct: "log-unsupported", verdict: result.Fail, says: []string{"claims the feature log"}},
	} {
		t.Run(want.conduct, func(t *testing.T) { misbehaves(t, b, "runtime", "driver.yaml", want) })
	}
	b.log(t)
}
