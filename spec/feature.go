package spec

// Features returns what a subject of the kind may claim and a case may need, nil
// for what is no kind of subject. The agreements in CONFORMANCE.md say what each
// claim promises.
func Features(kind Side) []string {
	switch kind {
	case SideHandler:
		return []string{"instructions", "fork", "session", "write-remote", "memory", "typed-events",
			"load", "encode", "tracing", "sdk-page", "helpers", "schema-url", "minimal-handler", "concurrent"}
	case SideRuntime:
		return []string{"rpc", "http", "named-handlers", "inspect", "log", "once", "until-idle", "agent",
			"metadata", "chosen-session", "tracestate", "uri"}
	}
	return nil
}
