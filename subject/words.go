package subject

import "pugmark.dev/conform/spec"

// The transports that a handler may offer (section 2; RPC mode is section 13).
const (
	TransportSubprocess = "subprocess"
	TransportRPC        = "rpc"
	TransportHTTP       = "http"
)

// TransportNames returns the transports in the order in which they are shown.
func TransportNames() []string {
	return []string{TransportSubprocess, TransportRPC, TransportHTTP}
}

// Features returns what a subject of the kind may claim, nil for an unknown kind.
// The agreements in CONFORMANCE.md say what each claim promises.
func Features(kind string) []string { return spec.Features(spec.Side(kind)) }

// The command templates of a runtime. A run takes the template of its handler's
// transport. `run` goes on until the session is idle and `run-once` is one
// invocation. The others serve for both, unless there is a second one whose name
// ends in -once: then that is one invocation, and the first goes on.
const (
	opStart        = "start"
	opPush         = "push"
	opRun          = "run"
	opRunOnce      = "run-once"
	opRunRPC       = "run-rpc"
	opRunRPCOnce   = "run-rpc-once"
	opRunURL       = "run-url"
	opRunURLOnce   = "run-url-once"
	opRunNamed     = "run-named"
	opRunNamedOnce = "run-named-once"
	opLog          = "log"
	opInspect      = "inspect"
)

// CommandNames returns the keys that `commands` of a runtime may have.
func CommandNames() []string {
	return []string{opStart, opPush, opRun, opRunOnce, opRunRPC, opRunRPCOnce, opRunURL, opRunURLOnce,
		opRunNamed, opRunNamedOnce, opLog, opInspect}
}
