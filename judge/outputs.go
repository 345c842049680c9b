package judge

import (
	"fmt"
	"time"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
)

// checkOutputs compares the Outputs on the wire, the answers of the agreement and
// no-ops left out.
func checkOutputs(want []casefile.OutputMatch) func(*invocation) outcome {
	return func(v *invocation) outcome {
		if len(v.outputs) == 0 && len(want) > 0 {
			return failed(finding{where: v.where(v.output()), want: fmt.Sprintf("%s; the first is %s", count(len(want), "output"), outputLabel(want[0])),
				got: "none: the handler " + v.endWithStderr()})
		}
		return sequence{
			what: "output", where: func(place string) string { return v.where(v.output() + ", " + place) },
			want: len(want), got: len(v.outputs),
			compare:   func(i, k int) comparison { return compareOutput(want[i], v.outputs[k]) },
			labelWant: func(i int) string { return outputLabel(want[i]) },
			labelGot:  func(k int) string { return recordLabel(v.outputs[k]) },
		}.judge()
	}
}

// compareOutput compares what stands on the wire. A string field that should be
// empty may be absent, by section 3.2.
func compareOutput(want casefile.OutputMatch, got *record) (c comparison) {
	text := func(name string, want *string) {
		if want != nil {
			f, ok := got.get(name)
			equal := ok && f.raw[0] == '"' && unquote(f.raw) == *want || *want == "" && (!ok || isZero(f.raw))
			c.add(name, quote(*want), got.shown(name), equal)
		}
	}
	text("uri", want.URI)
	text("content-type", want.ContentType)
	text("content-encoding", want.ContentEncoding)
	text("schema-url", want.SchemaURL)
	text("name", want.Name)
	text("session", want.Session)
	metadata, ok := got.strings("metadata")
	if want.Metadata != nil && !ok {
		c.add("metadata", showMap(want.Metadata), got.shown("metadata"), false)
	} else {
		c.strings("metadata", want.Metadata, metadata)
	}
	if want.Fork != nil {
		c.add("fork", fmt.Sprint(*want.Fork), got.shown("fork"), got.flag("fork") == *want.Fork)
	}
	if want.Duration != nil {
		text, found := metadata[protocol.MetadataDuration]
		shown, equal := "absent", false
		if found {
			d, err := protocol.ParseDuration(text)
			shown, equal = quote(text), err == nil && d == time.Duration(*want.Duration)
			if err != nil {
				shown += ", which is no duration of section 10"
			}
		}
		c.add("metadata.duration", time.Duration(*want.Duration).String(), shown, equal)
	}
	if want.Body != nil {
		d := got.data()
		problem := ""
		plain := d.bytes
		if len(d.faults) > 0 && d.bytes == nil {
			problem = d.faults[0].what
		} else if encoding := got.str("content-encoding"); encoding != "" {
			var err error
			if plain, err = decoded(d.bytes, encoding); err != nil {
				problem = fmt.Sprintf("%s, which can't be decoded: %v", describe(d.bytes), err)
			}
		}
		c.body(want.Body, plain, problem, jsonBody)
	}
	return c
}

func outputLabel(m casefile.OutputMatch) string {
	switch {
	case m.Name != nil && *m.Name != "":
		return quote(*m.Name)
	case m.ContentType != nil:
		return "an output of type " + quote(*m.ContentType)
	case m.Body != nil:
		if plain, err := m.Body.Plain(); err == nil {
			return "the output with " + describe(plain)
		}
	}
	return "an output"
}

func recordLabel(r *record) string {
	if name := r.str("name"); name != "" {
		return quote(name)
	}
	return clip(string(r.text), 200)
}
