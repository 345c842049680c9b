package mutants

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerConduct is handlers that read and write well, and are wrong about their
// invocation.
func handlerConduct() []Mutant {
	served := []string{protocol.TransportRPC, protocol.TransportHTTP}
	return []Mutant{
		{
			ID: "handler/answers-200-on-failure", Requirement: "P2.2/status-200", Transports: served,
			Sentence: "A failed invocation is answered with status 200.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Respond: func(w http.ResponseWriter) http.ResponseWriter { return &alwaysOK{w} }}
			},
		},
		{
			ID: "handler/breaks-long-answers-off", Requirement: "P16/closes-output", Transports: served,
			Sentence: "An answer of several Outputs ends before the length that it announces.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Respond: func(w http.ResponseWriter) http.ResponseWriter { return &promising{w} }}
			},
		},
		{
			ID: "handler/says-that-it-has-nothing-to-say", Requirement: "P4.2/empty-session",
			Sentence: "An invocation without Outputs ends with one that says so.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Output: func(w io.Writer) io.Writer { return &neverSilent{w: w} }}
			},
		},
		{
			ID: "handler/knows-no-agent", Requirement: "P13/identity-available",
			Transports: []string{protocol.TransportSubprocess},
			Sentence:   "The agent's identity is not read.",
			Handler:    lookingUp(func(name, value string) string { return unless(name == protocol.EnvAgent, value) }),
		},
		{
			ID: "handler/knows-no-metadata", Requirement: "P13/identity-available",
			Transports: []string{protocol.TransportSubprocess},
			Sentence:   "The session's metadata are not read.",
			Handler:    lookingUp(func(name, value string) string { return unless(name == protocol.EnvMetadata, value) }),
		},
		observing("has-a-default-agent", "An empty agent is given out as the agent called default.", func(o object) object {
			if o.text("agent") == "" {
				return o.with("agent", quoted("default"))
			}
			return o
		}),
		observing("forgets-the-session", "Handler code is told a session ID of zeros.", func(o object) object {
			return o.with("session", quoted(strings.Repeat("0", 32)))
		}),
		{
			ID: "handler/trusts-stale-variables", Requirement: "P13/identity-available",
			Transports: []string{protocol.TransportRPC},
			Sentence:   "In RPC mode the variables of the process stand in place of what the request says.",
			Handler: observing("", "", func(o object) object {
				if agent, set := os.LookupEnv(protocol.EnvAgent); set {
					o = o.with("agent", quoted(agent))
				}
				if session, set := os.LookupEnv(protocol.EnvSession); set {
					o = o.with("session", quoted(session))
				}
				return o
			}).Handler,
		},
		{
			ID: "handler/trips-over-unknown-variables", Requirement: "P17/unknown-variables",
			Transports: []string{protocol.TransportSubprocess, protocol.TransportRPC},
			Sentence:   "A PUGMARK_ variable that it does not know is a fault.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Input: func(r io.Reader) io.Reader {
					if name := unknownVariable(os.Environ()); name != "" {
						return failing{fmt.Errorf("the unknown variable %s", name)}
					}
					return r
				}}
			},
		},
	}
}

// observing makes a handler that tells its code something else of the invocation.
func observing(id, sentence string, change func(object) object) Mutant {
	return Mutant{
		ID: "handler/" + id, Requirement: "P13/identity-available", Sentence: sentence,
		Handler: func() fakehandler.Agreement {
			return fakehandler.Agreement{Output: writes(lined(editing(func(o object) object {
				return answered(o, fakehandler.NameObserved, change)
			})))}
		},
	}
}

// answered changes the body of an Output that is the answer of a name.
func answered(o object, name string, change func(object) object) object {
	if o.text("name") != name {
		return o
	}
	body, err := base64.StdEncoding.DecodeString(o.text("data"))
	if err != nil {
		return o
	}
	answer, err := parse(body)
	if err != nil {
		return o
	}
	return o.with("data", quoted(base64Of(change(answer).bytes())))
}

// lookingUp makes a handler whose variables are changed.
func lookingUp(change func(name, value string) string) func() fakehandler.Agreement {
	return func() fakehandler.Agreement {
		return fakehandler.Agreement{Getenv: func(name string) string { return change(name, os.Getenv(name)) }}
	}
}

func unless(condition bool, value string) string {
	if condition {
		return ""
	}
	return value
}

// unknownVariable returns the first variable of the protocol that section 13 does
// not name, or "".
func unknownVariable(environ []string) string {
	known := []string{protocol.EnvAgent, protocol.EnvSession, protocol.EnvMetadata, protocol.EnvRPCURL}
	for _, setting := range environ {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "PUGMARK_") && !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// failing is a stream that can't be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// alwaysOK answers with status 200 whatever it is told.
type alwaysOK struct{ http.ResponseWriter }

func (a *alwaysOK) WriteHeader(int) { a.ResponseWriter.WriteHeader(http.StatusOK) }

// Write drops the text of an error, which is no Output.
func (a *alwaysOK) Write(p []byte) (int, error) {
	if strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.Header().Del("Content-Length")
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// promising announces one byte more than an answer of several records has.
type promising struct{ http.ResponseWriter }

func (p *promising) Write(data []byte) (int, error) {
	if bytes.Count(data, []byte("\n")) > 1 {
		p.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
	}
	return p.ResponseWriter.Write(data)
}

// neverSilent writes an Output when nobody else did.
type neverSilent struct {
	w       io.Writer
	written bool
}

func (n *neverSilent) Write(p []byte) (int, error) {
	n.written = n.written || len(p) > 0
	return n.w.Write(p)
}

func (n *neverSilent) Close() error {
	if n.written {
		return nil
	}
	text, err := protocol.AppendOutput(nil, protocol.Output{Name: "nothing-to-do"})
	if err != nil {
		return err
	}
	_, err = n.w.Write(append(text, '\n'))
	return err
}

func base64Of(body []byte) string { return base64.StdEncoding.EncodeToString(body) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails; it ends the program if it must
	return b
}
