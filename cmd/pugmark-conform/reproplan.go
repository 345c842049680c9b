package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/transcript"
)

// reproPlanFile is a file that every folder of repro has.
const reproPlanFile = "repro.json"

// reproPlan is what repro.json holds: what repro.py serves and compares. Times are in
// seconds.
type reproPlan struct {
	Case      string `json:"case"`
	Transport string `json:"transport"`
	Limit     int    `json:"limit"`
	// Most is how many bytes of each output, and of an answer, are taken before the
	// handler is ended as a flood.
	Most        int64             `json:"most"`
	MayDie      bool              `json:"may-die"`
	Invocations []reproInvocation `json:"invocations"`
	// Checks is the blocks that the main invocations have to meet, Control the one
	// of the control.
	Checks  []map[string]any `json:"checks"`
	Control map[string]any   `json:"control"`
	// Always is rules of section 3 that hold in every case.
	Always []string `json:"always"`

	bodies map[string][]byte // by the name of their file
	url    string            // of a service, with {port}
}

// reproInvocation is one stream and what is behind its URLs.
type reproInvocation struct {
	Role        string                 `json:"role"`
	Writes      []int                  `json:"writes"` // lengths in bytes
	Waits       []float64              `json:"waits"`
	Hold        float64                `json:"hold"`
	ObjectsPort int                    `json:"objects-port"`
	MemoryPort  int                    `json:"memory-port"`
	MemoryRoot  string                 `json:"memory-root"`
	Objects     map[string]reproServed `json:"objects"`
	Memory      map[string]reproServed `json:"memory"`
	Names       map[string]string      `json:"names"`
	Target      string                 `json:"target,omitempty"`
	Headers     [][2]string            `json:"headers,omitempty"`

	input []byte
	// slow: how the input is delivered is a part of the case.
	slow      bool
	variables map[string]string
	inv       *result.Invocation
}

// reproServed is one answer of a server.
type reproServed struct {
	Status  int                 `json:"status"`
	Headers map[string][]string `json:"headers"`
	Body    string              `json:"body,omitempty"` // the name of a file
	Send    int                 `json:"send"`
	Cut     bool                `json:"cut,omitempty"`
	Chunked bool                `json:"chunked,omitempty"`
	Delay   float64             `json:"delay,omitempty"`
}

// newReproPlan composes the streams of the case again, and holds them against what
// was recorded.
func newReproPlan(r *recorded) (*reproPlan, error) {
	c := r.c.WithNonce(r.evidence.Nonce)
	scale := r.evidence.TimeScale
	if scale == 0 {
		scale = 1
	}
	p := &reproPlan{
		Case: r.c.ID, Transport: r.evidence.Transport,
		Limit:  max(int(math.Ceil(c.LimitOrDefault().Seconds()*scale)), 1),
		Most:   fakeruntime.DefaultOutputLimit,
		MayDie: mayDie(c.Handler.Expect), bodies: map[string][]byte{},
	}
	told := runner.Told(r.seed, r.c, r.evidence.Transport)
	for i := range r.evidence.Invocations {
		inv, err := p.invocation(told, c.Handler, &r.evidence.Invocations[i])
		if err != nil {
			return nil, fmt.Errorf("invocation %d of %s: %w", i+1, r.c.ID, err)
		}
		p.Invocations = append(p.Invocations, inv)
	}
	if err := p.expect(c, r.judged.Checks); err != nil {
		return nil, err
	}
	return p, nil
}

// Ports that stand in a stream until the recorded ones are known. They have as many
// digits as every port that a system hands out by itself.
const (
	placeObjects = 10001
	placeMemory  = 10002
)

func (p *reproPlan) invocation(told string, h *casefile.Handler, inv *result.Invocation) (reproInvocation, error) {
	script, variables := h.Input, h.Environment
	if inv.Role == stage.RoleControl {
		script = h.Control.Input
		if script.Records == nil {
			script.Records = h.Input.Records
		}
		if h.Control.Environment != nil {
			variables = h.Control.Environment
		}
	}
	out := reproInvocation{Role: inv.Role, MemoryRoot: script.MemoryRoot, inv: inv, variables: variables}
	if out.MemoryRoot == "" {
		out.MemoryRoot = "/memories/"
	}
	compose := func(objects, memory int) (fakeruntime.Stream, error) {
		return fakeruntime.Compose(told, script, fakeruntime.Roots{
			Objects: fmt.Sprintf("http://127.0.0.1:%d/", objects),
			Memory:  fmt.Sprintf("http://127.0.0.1:%d%s", memory, out.MemoryRoot),
		})
	}
	stream, err := compose(placeObjects, placeMemory)
	if err != nil {
		return out, err
	}
	sent, _ := inv.Transcript.Inputs()
	out.ObjectsPort = recordedPort(stream.Bytes(), sent, placeObjects)
	out.MemoryPort = recordedPort(stream.Bytes(), sent, placeMemory)
	if stream, err = compose(out.ObjectsPort, out.MemoryPort); err != nil {
		return out, err
	}
	out.input = stream.Bytes()
	if !bytes.HasPrefix(out.input, sent) {
		return out, errors.New("what was sent is not what this program would send for the case and the seed; run the case again with this version")
	}
	waits := stream.Waits()
	for i, w := range stream.Writes {
		wait := waits[i]
		if i > 0 {
			wait = max(wait, time.Duration(script.Pause))
		}
		out.Writes, out.Waits = append(out.Writes, len(w)), append(out.Waits, wait.Seconds())
		out.slow = out.slow || wait > 0
	}
	out.Hold = time.Duration(script.Hold).Seconds()
	out.slow = out.slow || out.Hold > 0 && inv.Transcript.Transport == protocol.TransportSubprocess || script.Chunk > 0
	out.Objects, out.Memory = p.answers(stream.ServedObjects()), p.answers(stream.ServedMemory())
	out.Names = stream.Names
	p.asked(&out)
	return out, nil
}

// recordedPort is the port that was sent in the place of the one that stands in the
// composed stream. Where it was not, the placeholder is as good as any.
func recordedPort(composed, sent []byte, place int) int {
	at := bytes.Index(composed, fmt.Appendf(nil, "127.0.0.1:%d", place))
	if at < 0 {
		return place
	}
	at += len("127.0.0.1:")
	if at >= len(sent) {
		return place
	}
	port := 0
	if _, err := fmt.Sscanf(string(regexp.MustCompile(`^[0-9]{1,5}`).Find(sent[at:])), "%d", &port); err != nil {
		return place
	}
	return port
}

// asked takes over what the invocation was told of itself: the variables of a process,
// or the request.
func (p *reproPlan) asked(out *reproInvocation) {
	for _, e := range out.inv.Transcript.Events {
		switch {
		case e.Kind == transcript.Environment && p.Transport == protocol.TransportSubprocess:
			out.variables = e.Variables
		case e.Kind == transcript.Request && e.Stream == transcript.Post && e.HTTP != nil:
			out.Target = e.HTTP.Target
			for _, name := range sortedKeys(e.HTTP.Header) {
				switch textproto.CanonicalMIMEHeaderKey(name) {
				case "Host", "Content-Length": // as the request has them
				default:
					out.Headers = append(out.Headers, [2]string{name, strings.Join(e.HTTP.Header[name], ", ")})
				}
			}
		}
	}
}

// answers stores the bodies of what a server answers as files, each once.
func (p *reproPlan) answers(served map[string]fakeruntime.Served) map[string]reproServed {
	all := map[string]reproServed{}
	for key, s := range served {
		out := reproServed{Status: s.Status, Headers: s.Header, Send: s.Send, Cut: s.Cut, Chunked: s.Chunked, Delay: s.Delay.Seconds()}
		if len(s.Body) > 0 {
			sum := sha256.Sum256(s.Body)
			out.Body = hex.EncodeToString(sum[:])
			p.bodies[out.Body] = s.Body
		}
		all[key] = out
	}
	return all
}

func sortedKeys[V any](m map[string]V) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// spawned is the command of the handler as the evidence has it, a shell's words.
func spawned(e *result.Evidence) string {
	for _, inv := range e.Invocations {
		for _, event := range inv.Transcript.Events {
			if event.Kind == transcript.Spawn {
				return event.Text
			}
		}
	}
	return ""
}
