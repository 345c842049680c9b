package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/testscript"
	"pugmark.dev/conform/transcript"
)

// doctorFeatures is a case for each claim that is not seen by itself: the plainest one
// that makes use of it.
func doctorFeatures(kind string) map[string]string {
	if kind == casefile.KindHandler {
		return map[string]string{
			"fork": "handler/outputs/fork", "session": "handler/outputs/to-another-session", "write-remote": "handler/outputs/remote",
			"memory": "handler/memory/read", "typed-events": "handler/sdk/start-after-pushes", "load": "handler/stream/three-hundred-entries",
			"encode": "handler/outputs/encoded-gzip", "tracing": "handler/tracing/context-of-this-invocation",
			"sdk-page": "handler/sdk/text-is-plain", "minimal-handler": "handler/sdk/minimal-handler-echoes",
			"concurrent": "handler/concurrent/identities-are-kept-apart", "helpers": "handler/sdk/helper-writes-text",
			"schema-url": "handler/stream/schema-urls-are-shown",
		}
	}
	return map[string]string{
		"named-handlers": "runtime/named/python-is-run", "chosen-session": "runtime/storage/chosen-session-id",
		"agent": "runtime/environment/identity-variables", "metadata": "runtime/environment/identity-variables",
		"tracestate": "runtime/tracing/tracestate", "uri": "runtime/outputs/uri-body",
	}
}

// sides looks at a subject that is ready, in each of its roles.
func (d *checkup) sides(under opened) error {
	if under.Handler != nil {
		if err := d.handler(under); err != nil {
			return err
		}
	}
	if under.Runtime != nil {
		return d.runtime(under)
	}
	return nil
}

// handler looks at a handler: that each transport answers, and then what it claims.
func (d *checkup) handler(under opened) error {
	for _, transport := range under.Subject.Describe().Transports {
		if commandOf(under, transport) == nil || d.ctx.Err() != nil || !d.answers(under, transport) {
			continue
		}
		if !slices.Contains(under.Handler.Features, "instructions") {
			d.note(transport, "`instructions` is not claimed: most cases need a handler that follows the agreement of CONFORMANCE.md")
		} else if ok, err := d.plays(under, transport, runner.Baseline, "it follows the agreement",
			"compare what it wrote with the agreement in CONFORMANCE.md, \"Plug in a handler\"; to see both sides: pugmark-conform run"+
				subjectArgument(d.name)+" --transport "+transport+" "+runner.Baseline); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if err := d.claims(under, casefile.KindHandler, transport, under.Handler.Features); err != nil {
			return err
		}
	}
	return nil
}

// answers plays an empty session to the handler, and reports whether it ended well.
func (d *checkup) answers(under opened, transport string) bool {
	e := stage.Stage(d.ctx, stage.Job{
		Case: &casefile.Case{
			ID: "handler/doctor/starts", Kind: casefile.KindHandler, Limit: script.Duration(doctorCase),
			Handler: &casefile.Handler{Input: fakeruntime.Script{Records: []fakeruntime.Record{{Event: protocol.EventMemory}, {Event: protocol.EventStart}}}},
		},
		Transport: transport, Handler: &under.Handler.HandlerSubject, Pool: d.pool, TimeScale: d.timeScale, Scratch: d.scratch,
	})
	byHand := "run its command by hand and look at what it prints"
	switch {
	case d.ctx.Err() != nil:
		return false
	case e.Fault != "":
		d.problem(transport, e.Fault, byHand)
		return false
	case len(e.Invocations) == 0:
		why := "the handler was not started"
		for _, s := range e.Steps {
			if s.Error != nil {
				why = s.Error.Message
			}
		}
		d.problem(transport, why, byHand)
		return false
	}
	t := &e.Invocations[0].Transcript
	ended := t.Ended()
	if ended != nil && ended.Success() {
		d.ok(transport, "it starts, reads a session and answers")
		return true
	}
	if ended == nil {
		d.problem(transport, "it is not known how the handler ended", byHand)
		return false
	}
	wrong, do := fmt.Sprintf("the handler was given an empty session and ended by %s, status %d %s", ended.How, ended.Code, ended.Detail), byHand
	switch ended.How {
	case transcript.HowHang:
		wrong = "the handler was given an empty session, whose input then ended, and was still running after " + d.scaled(doctorCase).String()
		do = "let it end when it has done its work: as a subprocess it exits, over rpc and http it ends its answer; on a slow machine, --time-scale"
	case transcript.HowFlood:
		wrong, do = "the handler writes without end: "+ended.Detail, "let it write Outputs, and its logs to standard error, and end"
	case transcript.HowExit, transcript.HowAnswer:
		wrong = fmt.Sprintf("the handler was given an empty session and ended with status %d", ended.Code)
	case transcript.HowNoAnswer, transcript.HowCut:
		wrong = "the handler was given an empty session, and no whole answer came: " + ended.Detail
		do = "let it serve POST on the socket that it is given, and answer 200; " + byHand
	}
	stderr, _ := t.Stream(transcript.Stderr)
	if end := t.Tail(transcript.Stderr); len(end) > 0 {
		stderr = end
	}
	if len(stderr) > 0 {
		const most = 1000
		wrong += "; its standard error ends with\n" + strings.TrimSpace(string(stderr[max(0, len(stderr)-most):]))
	}
	d.problem(transport, wrong, do)
	return false
}

// claims plays a case for each feature that is claimed.
func (d *checkup) claims(under opened, kind, transport string, claimed []string) error {
	of := doctorFeatures(kind)
	tried := map[string]bool{}
	var work []string
	defer func() {
		if len(work) > 0 {
			d.ok(transport, "what it claims works, as far as one case each can tell: %s", strings.Join(work, ", "))
		}
	}()
	for _, feature := range claimed {
		id := of[feature]
		if tried[id] {
			work = append(work, feature)
			continue
		}
		if id == "" || d.ctx.Err() != nil {
			continue
		}
		c := caseOf(d.suite, id)
		if !c.Supports(transport) {
			continue
		}
		if missing := slices.IndexFunc(c.Needs, func(need string) bool { return !slices.Contains(claimed, need) }); missing >= 0 {
			d.note(transport, "`%s` is claimed, and only tried together with `%s`, which is not", feature, c.Needs[missing])
			continue
		}
		ok, err := d.plays(under, transport, id, "",
			"mend it, or take `"+feature+"` out of `features`; to see more: pugmark-conform run"+subjectArgument(d.name)+" --transport "+transport+" "+id)
		if err != nil {
			return err
		}
		if ok {
			tried[id], work = true, append(work, feature)
		}
	}
	return nil
}

// plays plays one case, and reports whether it holds; holds is what is then printed.
func (d *checkup) plays(under opened, transport, id, holds, do string) (bool, error) {
	fake, err := d.scriptedHandler()
	if err != nil {
		return false, err
	}
	c := caseOf(d.suite, id)
	results, err := runner.Run(d.ctx, runner.Options{
		Registry: d.suite.registry, Cases: []*casefile.Case{c}, All: []*casefile.Case{c}, Subject: under.Subject,
		Transports: []string{transport}, Fake: fake, Programs: d.Programs, Parallel: 1, Seed: freshSeed(), TimeScale: d.timeScale,
	})
	if err != nil || len(results) == 0 || d.ctx.Err() != nil {
		return false, err
	}
	out := results[0]
	switch out.Verdict {
	case result.Warn:
		d.note(transport, "%s ends in warn: %s", id, out.Reason)
		return true, nil
	case result.Pass:
		if holds != "" {
			d.ok(transport, "%s", holds)
		}
		return true, nil
	case result.HarnessError:
		return false, fmt.Errorf("%s over %s: %s", id, transport, out.Reason)
	case result.Hang:
		do += "; on a slow machine, --time-scale"
	}
	d.problem(transport, fmt.Sprintf("%s ends in %s: %s", id, out.Verdict, out.Reason), do)
	return false, nil
}

// runtime looks at a runtime: that each operation answers, and then what it claims.
func (d *checkup) runtime(under opened) error {
	claimed := under.Runtime.Features
	run := ""
	switch {
	case slices.Contains(claimed, "once"):
		run = "run-once"
	case slices.Contains(claimed, "until-idle"):
		run = "run"
	default:
		d.problem("run", "neither `once` nor `until-idle` is claimed, so no handler can be run", "claim what your runtime can, and give it the command or the driver's `run`")
		return nil
	}
	transports := []string{protocol.TransportSubprocess}
	for _, t := range []string{protocol.TransportRPC, protocol.TransportHTTP} {
		if slices.Contains(claimed, t) {
			transports = append(transports, t)
		}
	}
	for _, t := range transports {
		ok, err := d.operations(under, run, t)
		if err != nil {
			return err
		}
		if !ok && t == protocol.TransportSubprocess {
			return nil
		}
	}
	return d.claims(under, casefile.KindRuntime, protocol.TransportSubprocess, claimed)
}

// operations asks for each operation once, with a handler on the transport.
func (d *checkup) operations(under opened, run, transport string) (bool, error) {
	c, err := d.operationsCase(run, under.Runtime.Features)
	if err != nil {
		return false, err
	}
	fake, err := d.scriptedHandler()
	if err != nil {
		return false, err
	}
	e := stage.Stage(d.ctx, stage.Job{
		Case: c, Transport: transport, Runtime: &under.Runtime.RuntimeSubject, Features: under.Runtime.Features, Fake: fake, Pool: d.pool,
		Story: testscript.Play, Seed: freshSeed(), TimeScale: d.timeScale, Scratch: d.scratch,
	})
	if d.ctx.Err() != nil {
		return false, nil
	}
	for _, s := range e.Steps {
		if s.Error == nil {
			continue
		}
		what := s.Verb + " with a handler over " + transport
		switch s.Error.Kind {
		case "hang":
			d.problem(what, "the runtime had not answered after "+d.scaled(casefile.DefaultStoryLimit).String(),
				"let each operation end by itself; a driver answers each line with a line, at once; on a slow machine, --time-scale")
		case "unsupported":
			d.problem(what, s.Error.Message, "give the runtime the operation, or take the feature that needs it out of `features`")
		default:
			d.problem(what, s.Error.Kind+": "+s.Error.Message,
				"run it by hand: the operation is `"+s.Verb+"`, and CONFORMANCE.md, \"Plug in a runtime\", says what it is given and prints")
		}
		return false, nil
	}
	switch {
	case e.TimedOut != "":
		d.problem(transport, "the operations were not done after "+e.TimedOut, "on a slow machine, --time-scale; else see which operation takes long")
		return false, nil
	case e.Fault != "":
		return false, fmt.Errorf("the operations over %s: %s", transport, e.Fault)
	case len(e.Invocations) == 0:
		d.problem(run+" with a handler over "+transport, "it answered, and no handler was run", "let it run the handler that it is given, {handler} in a template, `command`, `rpc` or `url` for a driver")
		return false, nil
	}
	var done []string
	for _, s := range e.Steps {
		if !slices.Contains(done, s.Verb) && slices.Contains([]string{"start", "push", run, "log", "inspect"}, s.Verb) {
			done = append(done, s.Verb)
		}
	}
	d.ok(transport, "%s answer, and the handler is run", strings.Join(done, ", "))
	return true, nil
}

// operationsCase is a story with each operation that is claimed.
func (d *checkup) operationsCase(run string, claimed []string) (*casefile.Case, error) {
	needs, looks := []string{}, ""
	for _, op := range []string{"log", "inspect"} {
		if slices.Contains(claimed, op) {
			needs, looks = append(needs, op), looks+op+" main\n"
		}
	}
	head := "# why: Doctor asks a runtime for each operation once.\n# covers: P5.2/stream-order\n"
	if len(needs) > 0 {
		head += "# needs: " + strings.Join(needs, " ") + "\n"
	}
	text := head + "\nstart main\npush main a.yaml\nscript reply.yaml\nrequire P5.2/stream-order\n" + run + " main\nexpect fed.yaml\n" + looks +
		"-- fed.yaml --\nsession: main\nfed: {entries: [{name: a}]}\n-- a.yaml --\n{name: a, body: {text: hello}}\n-- reply.yaml --\n- read: all\n- emit: {name: reply, body: {text: world}}\n" +
		"- emit: {content-type: application/vnd.pugmark.pause+text, body: {text: done}}\n"
	const name = "runtime/doctor/operations.txtar"
	files, err := txtar.FS(&txtar.Archive{Files: []txtar.File{{Name: name, Data: []byte(text)}}})
	if err != nil {
		return nil, err
	}
	c, problems := casefile.Loader{Registry: d.suite.registry}.LoadFile(files, name)
	if len(problems) > 0 {
		return nil, problems[0]
	}
	return c, nil
}
