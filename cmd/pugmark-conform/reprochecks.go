package main

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/script"
)

// expect turns what the case wants into what repro.py can compare. What it has no word
// for stands under a key that it does not know, with a sentence, and makes it say that
// it can't tell.
func (p *reproPlan) expect(c *casefile.Case, failed []result.Check) error {
	p.Checks = []map[string]any{}
	for _, b := range c.Handler.Expect {
		block, err := reproBlock(b)
		if err != nil {
			return err
		}
		p.Checks = append(p.Checks, block)
	}
	if c.Handler.Control != nil {
		block, err := reproBlock(c.Handler.Control.Expect)
		if err != nil {
			return err
		}
		p.Control = block
	}
	// Those whose breach fails a handler, and of the others what was found.
	p.Always = []string{"single-object", "utf8", "no-bom", "no-foreign-content", "standard-alphabet", "no-line-breaks"}
	for _, k := range failed {
		rule, ok := strings.CutPrefix(k.ID, "always/")
		if _, known := casefile.StreamRules()[rule]; ok && known && !slices.Contains(p.Always, rule) {
			p.Always = append(p.Always, rule)
		}
	}
	return nil
}

// reproBlock is one block of expectations. Delivered is left out: it holds the harness
// to the case, not the handler.
func reproBlock(b casefile.HandlerExpect) (map[string]any, error) {
	out := map[string]any{}
	var failure error
	put := func(key string, given bool, value func() (any, error)) {
		if !given || failure != nil {
			return
		}
		v, err := value()
		out[key], failure = v, err
	}
	as := func(v any) func() (any, error) { return func() (any, error) { return v, nil } }
	put("exit", b.Exit != "", as(b.Exit))
	put("stream", len(b.Stream) > 0, as(b.Stream))
	put("observed", b.Observed != nil, func() (any, error) { return reproObserved(b.Observed) })
	put("loaded", b.Loaded != nil, func() (any, error) { return reproLoaded(b.Loaded), nil })
	put("memory", b.Memory != nil, func() (any, error) { return reproMemory(b.Memory) })
	put("outputs", b.Outputs != nil, func() (any, error) { return reproOutputs(*b.Outputs) })
	put("silent", b.Silent, as(true))
	put("stderr", b.Stderr != "", as(b.Stderr))
	put("fetches", b.Fetches != nil, func() (any, error) { return reproFetches(b.Fetches), nil })
	put("before-close", b.BeforeClose, as(true))
	put("after-lifecycle", b.AfterLifecycle, as("that no Output comes before the lifecycle event, the last record, goes out"))
	put("own-servers", b.OwnServers, as("that no URL of an earlier invocation is asked for, while its servers are kept up"))
	put("same-outputs", b.SameOutputs, as("that all invocations give the same Outputs"))
	put("any-of", b.AnyOf != nil, func() (any, error) {
		blocks := []map[string]any{}
		for _, alternative := range b.AnyOf {
			block, err := reproBlock(alternative)
			if err != nil {
				return nil, err
			}
			blocks = append(blocks, block)
		}
		return blocks, nil
	})
	return out, failure
}

// fields is a JSON object of those fields that a case gives.
type fields map[string]any

func (f fields) text(name string, value *string) {
	if value != nil {
		f[name] = *value
	}
}

func (f fields) metadata(value map[string]string) {
	if value != nil {
		f["metadata"] = value
	}
}

// body is what a body decodes to; json is set where the layout of JSON does not count.
func (f fields) body(value *script.Body) error {
	if value == nil {
		return nil
	}
	plain, err := value.Plain()
	if err == nil {
		f["body"] = fields{"base64": base64.StdEncoding.EncodeToString(plain), "json": value.JSON != nil}
	}
	return err
}

func reproObserved(o *casefile.Observed) (fields, error) {
	out := fields{}
	out.text("session", o.Session)
	out.text("agent", o.Agent)
	out.metadata(o.Metadata)
	if o.Snapshot != nil {
		out["snapshot"] = *o.Snapshot
	}
	if o.OnlyEntries {
		out["only-entries"] = true
	}
	if o.Events != nil {
		out["events"] = true
	}
	if o.Entries == nil {
		return out, nil
	}
	entries := []fields{}
	for _, m := range *o.Entries {
		e := fields{}
		e.text("event", m.Event)
		e.text("name", m.Name)
		e.text("content-type", m.ContentType)
		e.text("content-encoding", m.ContentEncoding)
		e.text("schema-url", m.SchemaURL)
		e.metadata(m.Metadata)
		if m.Size != nil {
			e["size"] = *m.Size
		}
		if m.Error {
			e["error"] = true
		}
		if err := e.body(m.Body); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	out["entries"] = entries
	return out, nil
}

func reproLoaded(list []casefile.LoadedMatch) []fields {
	all := []fields{}
	for _, m := range list {
		l := fields{"name": m.Name}
		l.text("text", m.Text)
		l.text("base64", m.Bytes)
		if m.Found != nil {
			l["found"] = *m.Found
		}
		if m.JSON != nil {
			l["json"] = json.RawMessage(m.JSON)
		}
		if m.Error {
			l["error"] = true
		}
		all = append(all, l)
	}
	return all
}

func reproMemory(list []casefile.MemoryMatch) ([]fields, error) {
	all := []fields{}
	for _, m := range list {
		o := fields{"key": m.Key}
		if m.Error {
			o["error"] = true
		}
		if err := o.body(m.Body); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func reproOutputs(list []casefile.OutputMatch) ([]fields, error) {
	all := []fields{}
	for _, m := range list {
		o := fields{}
		o.text("uri", m.URI)
		o.text("content-type", m.ContentType)
		o.text("content-encoding", m.ContentEncoding)
		o.text("schema-url", m.SchemaURL)
		o.text("name", m.Name)
		o.text("session", m.Session)
		o.metadata(m.Metadata)
		if m.Fork != nil {
			o["fork"] = *m.Fork
		}
		if m.Duration != nil {
			o["duration"] = time.Duration(*m.Duration).Nanoseconds()
		}
		if err := o.body(m.Body); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func reproFetches(list []casefile.FetchMatch) []fields {
	all := []fields{}
	for _, m := range list {
		f := fields{"entry": m.Entry, "memory": m.Memory, "method": m.Method, "path": m.Path, "least": 0}
		switch {
		case m.AtLeast != nil:
			f["least"] = *m.AtLeast
		case m.AtMost == nil:
			f["least"] = 1
		}
		if m.AtMost != nil {
			f["most"] = *m.AtMost
		}
		if m.SameTrace {
			f["same-trace"] = true
		}
		all = append(all, f)
	}
	return all
}

// mayDie reports whether the case admits that a signal ends the handler.
func mayDie(blocks []casefile.HandlerExpect) bool {
	return slices.ContainsFunc(blocks, func(b casefile.HandlerExpect) bool {
		return b.Exit == "failure" || b.Exit == "any" || mayDie(b.AnyOf)
	})
}
