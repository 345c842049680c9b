package subject

import "strings"

// Environment is environ, as NAME=value, less what only an invocation may set:
// every PUGMARK_* variable (section 13) and the trace context (section 14), also
// under the names that programs use besides (F43). Letter case does not count.
func Environment(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && !ofInvocation(strings.ToUpper(name)) {
			kept = append(kept, entry)
		}
	}
	return kept
}

func ofInvocation(name string) bool {
	switch name {
	case "TRACEPARENT", "TRACESTATE", "BAGGAGE":
		return true
	}
	return strings.HasPrefix(name, "PUGMARK_")
}
