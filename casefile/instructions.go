package casefile

import (
	"slices"

	"pugmark.dev/conform/fakeruntime"
	"pugmark.dev/conform/script"
)

// InstructionOps returns the operations of the agreement with a handler subject,
// in the order of its table.
func InstructionOps() []string {
	return []string{"observe", "write", "write-remote", "pause", "sleep", "load", "memory", "log", "fail"}
}

// InstructionFeature returns the feature that a handler has to claim, besides
// instructions, to be asked for the operation or for one of its fields. Empty
// when it comes with the agreement. The field is empty for the operation itself.
func InstructionFeature(op, field string) string {
	switch {
	case op == "write-remote" && field == "":
		return "write-remote"
	case (op == "load" || op == "memory") && field == "":
		return op
	case (op == "write" || op == "write-remote") && field == "fork":
		return "fork"
	case (op == "write" || op == "write-remote") && field == "session":
		return "session"
	case op == "write" && field == "content-encoding":
		return "encode"
	case op == "write" && field == "helper":
		return "helpers"
	}
	return ""
}

// opFields returns the fields of an operation, those that it needs apart.
func opFields(op string) (needed, allowed []string) {
	entry := []string{"name", "content-type", "content-encoding", "schema-url", "metadata", "session", "fork"}
	switch op {
	case "write":
		return nil, append([]string{"text", "json", "base64", "helper"}, entry...)
	case "write-remote":
		return []string{"uri"}, entry
	case "pause":
		return nil, []string{"reason"}
	case "sleep":
		return []string{"seconds"}, []string{"reason"}
	case "load":
		return []string{"name"}, []string{"as"}
	case "memory":
		return []string{"key"}, nil
	case "log":
		return []string{"text"}, nil
	}
	return nil, nil // observe, fail
}

// instructions checks a list of operations for a handler subject.
func (k *checker) instructions(at place, list []fakeruntime.Instruction) {
	k.need(at, "instructions", "the handler has to follow instructions")
	for i, in := range list {
		spot := at.item(i)
		needed, allowed := opFields(in.Op)
		for j := 0; j+1 < len(spot.node.Content); j += 2 {
			key := spot.node.Content[j]
			if key.Value != "op" && !slices.Contains(needed, key.Value) && !slices.Contains(allowed, key.Value) {
				place{spot.doc, key}.fault("`%s` is no field of `%s`", key.Value, in.Op)
			}
			if feature := InstructionFeature(in.Op, key.Value); feature != "" && !(feature == "session" && in.Fork) {
				k.need(place{spot.doc, key}, feature, "`"+key.Value+"` is a feature of its own")
			}
		}
		for _, field := range needed {
			if !spot.has(field) {
				spot.fault("`%s` needs `%s`", in.Op, field)
			}
		}
		if feature := InstructionFeature(in.Op, ""); feature != "" {
			k.need(spot, feature, "`"+in.Op+"` is a feature of its own")
		}
		k.instruction(spot, in)
	}
}

func (k *checker) instruction(at place, in fakeruntime.Instruction) {
	switch in.Op {
	case "write":
		values := 0
		for _, key := range []string{"text", "json", "base64"} {
			if at.has(key) {
				values++
			}
		}
		if values != 1 {
			at.fault("`write` has one of text, json and base64")
		}
		if in.Base64 != nil {
			body(at.key("base64"), script.Body{Base64: in.Base64})
		}
	case "sleep":
		if in.Seconds != nil && *in.Seconds < 0 {
			at.key("seconds").fault("a sleep can't be negative")
		}
	case "memory":
		memoryKey(at.key("key"), in.Key)
	}
	if at.has("fork") && !in.Fork {
		at.key("fork").fault("`fork: false` is no field")
	}
	if at.has("helper") && !in.Helper {
		at.key("helper").fault("`helper: false` is no field")
	}
	sessionID(at.key("session"), in.Session)
}
