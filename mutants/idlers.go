package mutants

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/subject"
)

// answering is an idle handler on http.
func answering(status int, body string, read bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if read {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// printing is an idle handler as a program.
func printing(status int, body string, read bool) func() int {
	return func() int {
		if read {
			_, _ = io.Copy(io.Discard, os.Stdin)
		}
		_, _ = os.Stdout.WriteString(body)
		return status
	}
}

func idleHandlers() []Idler {
	idler := func(id, sentence string, status int, body string, read bool) Idler {
		answer := http.StatusOK
		if status != 0 {
			answer = http.StatusInternalServerError
		}
		return Idler{
			ID: "handler/" + id, Sentence: sentence,
			Program: printing(status, body, read), Service: answering(answer, body, read),
		}
	}
	return []Idler{
		idler("exits-at-once", "It reads nothing, writes nothing and succeeds.", 0, "", false),
		idler("reads-and-exits", "It reads everything, writes nothing and succeeds.", 0, "", true),
		idler("fails-at-once", "It reads nothing, writes nothing and fails.", 1, "", false),
		idler("writes-a-no-op", "It writes a record without fields and succeeds.", 0, "{}\n", true),
		idler("supports-nothing", "Whatever it is told, it says that it can't observe.", 0,
			`{"name":"conform/unsupported","content-type":"application/json","data":"`+base64Of([]byte(`{"op":"observe"}`))+"\"}\n", true),
	}
}

func idleRuntimes() []Idler {
	return []Idler{
		{
			ID: "runtime/says-ok", Sentence: "It says that everything went well, and has an empty log.",
			Runtime: idle{log: `{"entries":[]}`, dump: `{}`},
		},
		{
			ID: "runtime/prints-a-session", Sentence: "Whatever it is asked, it prints a session ID.",
			Runtime: idle{log: `"` + idleSession + `"`, dump: `"` + idleSession + `"`},
		},
		{
			ID: "runtime/supports-nothing", Sentence: "Whatever it is asked but to start a session, it says that it can't.",
			Runtime: idle{run: &subject.Error{Op: "run", Kind: subject.Unsupported, Message: "not implemented"}},
		},
		{
			ID: "runtime/fails-every-run", Sentence: "It says that every invocation failed.",
			Runtime: idle{
				log: `{"entries":[]}`, dump: `{"session":"` + idleSession + `","version":0,"snapshots":[]}`,
				run: &subject.Error{Op: "run", Kind: subject.FailedInvocation, Message: "the handler exited with status 1"},
			},
		},
		{
			ID: "runtime/keeps-pushes-only", Sentence: "It keeps what is pushed, and says that runs went well, but starts no handler.",
			Runtime: transported(func(reference.Transport) reference.Transport {
				return invoking(func(context.Context, reference.Invocation) error { return nil })
			})(),
		},
		{
			ID: "runtime/keeps-pushes-and-fails", Sentence: "It keeps what is pushed, and says that runs failed, but starts no handler.",
			Runtime: transported(func(reference.Transport) reference.Transport {
				return invoking(func(context.Context, reference.Invocation) error {
					return &reference.InvocationError{Reason: reference.ReasonExit, Exit: 1}
				})
			})(),
		},
	}
}

// idleSession is the session ID that idle runtimes give.
const idleSession = "1d1e1d1e1d1e1d1e1d1e1d1e1d1e1d1e"

// idle is a runtime that does nothing. An answer that is empty is unsupported.
type idle struct {
	log, dump string
	run       error
}

func (idle) Start(_ context.Context, r subject.StartRequest) (string, error) {
	if r.Session != "" {
		return strings.ToLower(r.Session), nil
	}
	return idleSession, nil
}

func (idle) Push(context.Context, subject.PushRequest) error { return nil }

func (i idle) Run(context.Context, subject.RunRequest) (subject.RunReply, error) {
	return subject.RunReply{State: "idle"}, i.run
}

func (i idle) Log(context.Context, string, string) (json.RawMessage, error) {
	return answerOr("log", i.log)
}

func (i idle) Inspect(context.Context, string, string) (json.RawMessage, error) {
	return answerOr("inspect", i.dump)
}

func answerOr(op, answer string) (json.RawMessage, error) {
	if answer == "" {
		return nil, &subject.Error{Op: op, Kind: subject.Unsupported, Message: "not implemented"}
	}
	return json.RawMessage(answer), nil
}

func (idle) Close() error { return nil }
