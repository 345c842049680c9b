package casefile

// A subject that does nothing passes nothing. So each block has a check that such
// a subject fails, or its case has a control that it fails. A handler that does
// nothing reads nothing, writes nothing and exits 0; a runtime that does nothing
// says that everything went well and starts no handler.

// asserts reports whether the block checks anything of the subject. `delivered`
// is a check of the harness.
func (e HandlerExpect) asserts() bool {
	return e.Exit != "" || e.Observed != nil || e.Outputs != nil || e.Silent || e.Loaded != nil || e.Memory != nil ||
		e.Stream != nil || e.Stderr != "" || e.Fetches != nil || e.BeforeClose || e.AfterLifecycle || e.OwnServers || e.SameOutputs || e.AnyOf != nil
}

// asksForEffort reports whether a handler that does nothing fails the block.
func (e HandlerExpect) asksForEffort() bool {
	if e.Exit == "failure" || e.Observed != nil || e.Outputs != nil && len(*e.Outputs) > 0 ||
		e.Loaded != nil || e.Memory != nil || e.Stream != nil || e.Stderr != "" {
		return true
	}
	for _, f := range e.Fetches {
		if f.least() > 0 {
			return true
		}
	}
	return all(e.AnyOf, HandlerExpect.asksForEffort)
}

// least is the smallest number of requests that fits.
func (f FetchMatch) least() int {
	switch {
	case f.AtLeast != nil:
		return *f.AtLeast
	case f.AtMost != nil:
		return 0
	}
	return 1
}

// asserts reports whether the block checks anything.
func (e RuntimeExpect) asserts() bool {
	return e.Run != "" || e.Says != "" || e.Waited != nil || e.Invocations != nil || e.Fed != nil || e.Log != nil ||
		e.looksAtDump() || e.AnyOf != nil
}

// asksForEffort reports whether a runtime that does nothing fails the block.
func (e RuntimeExpect) asksForEffort() bool {
	others := e // a dump that does nothing is at version 0, too
	others.Version = nil
	return e.Run == "failure" || e.Says != "" || e.Invocations != nil && *e.Invocations > 0 || e.Fed != nil ||
		e.Log != nil && len(*e.Log) > 0 || others.looksAtDump() || e.Version != nil && *e.Version > 0 ||
		e.Waited != nil && e.Waited.AtLeast > 0 || all(e.AnyOf, RuntimeExpect.asksForEffort)
}

// all reports whether every one of at least one item holds.
func all[T any](list []T, holds func(T) bool) bool {
	for _, item := range list {
		if !holds(item) {
			return false
		}
	}
	return len(list) > 0
}
