package result_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pugmark.dev/conform/result"
)

func TestTheLineThatSaysWhyIsFound(t *testing.T) {
	const served = `127.0.0.1 - - [30/Nov/2026 01:58:21] "POST /?agent=a&session=0f HTTP/1.1" 500 59`
	for name, tc := range map[string]struct {
		stderr, want string
		isReason     bool
	}{
		"python, chained": {
			"Traceback (most recent call last):\n  File \"a.py\", line 3, in read\n    json.loads(s)\njson.decoder.JSONDecodeError: Extra data: line 1\n\n" +
				"The above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n" +
				"    raise RuntimeError(f\"Failed: {e}\") from e\nRuntimeError: Failed: Extra data: line 1\n",
			"RuntimeError: Failed: Extra data: line 1", true,
		},
		"python behind its access log":    {"KeyError: 'name'\n" + served + "\n", "KeyError: 'name'", true},
		"python without a message":        {"  File \"a.py\"\nAssertionError\n", "AssertionError", true},
		"an exception of one's own":       {"INFO: started\nmy.pkg.Oops: no such thing\n", "my.pkg.Oops: no such thing", true},
		"an exception before a log":       {"ValueError: bad\nserver: going on\n", "ValueError: bad", true},
		"node":                            {"a.js:3\n    throw new TypeError('x');\n\nTypeError: x\n    at f (a.js:3:9)\n\nNode.js v22.1.0\n", "TypeError: x", true},
		"go":                              {"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/a/main.go:3 +0x1d\nexit status 2\n", "panic: runtime error: index out of range", true},
		"rust":                            {"thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds\nnote: run with `RUST_BACKTRACE=1`\n", "thread 'main' panicked at src/main.rs:2:5: index out of bounds", true},
		"java":                            {"Exception in thread \"main\" java.lang.IllegalStateException: no\n\tat A.main(A.java:3)\nCaused by: java.io.IOException: gone\n\t... 1 more\n", "Caused by: java.io.IOException: gone", true},
		"ruby":                            {"a.rb:1:in 'f': no data (ArgumentError)\n\tfrom a.rb:4:in '<main>'\n", "a.rb:1:in 'f': no data (ArgumentError)", true},
		"a program":                       {"reading\nhandler: bad record\n", "handler: bad record", true},
		"a log alone":                     {"INFO: started\nWARN: slow\n", "WARN: slow", false},
		"words":                           {"one\ntwo\n\n", "two", false},
		"an access log alone":             {served + "\n" + `127.0.0.1 - - [d] "GET / HTTP/1.1" 200 -` + "\n" + `INFO:     127.0.0.1:8080 - "POST / HTTP/1.1" 200 OK` + "\n", "", false},
		"what a server says of a request": {`127.0.0.1 - - [d] code 400, message Bad request` + "\n" + served + "\n", "127.0.0.1 - - [d] code 400, message Bad request", false},
		"nothing":                         {"", "", false},
	} {
		line, isReason := result.DiagnosticSummary(tc.stderr)
		if diff := cmp.Diff([]any{tc.want, tc.isReason}, []any{line, isReason}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
