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
// transport: one whose name ends in -once is one invocation, the other goes on until
// the session is idle. What has no template is unsupported.
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

// templateClaim is a template that must be there for all of the features to be
// claimed.
type templateClaim struct {
	features []string
	op       string
}

// templateClaims is which claims of a runtime ask for which templates.
func templateClaims() []templateClaim {
	const idle, once = "until-idle", "once"
	return []templateClaim{
		{[]string{idle}, opRun}, {[]string{once}, opRunOnce},
		{[]string{"rpc", idle}, opRunRPC}, {[]string{"rpc", once}, opRunRPCOnce},
		{[]string{"http", idle}, opRunURL}, {[]string{"http", once}, opRunURLOnce},
		{[]string{"named-handlers", idle}, opRunNamed}, {[]string{"named-handlers", once}, opRunNamedOnce},
		{[]string{"log"}, opLog}, {[]string{"inspect"}, opInspect},
	}
}

// startClaim is a placeholder that the template of `start` must have for the
// feature to be claimed.
type startClaim struct{ feature, placeholder string }

func startClaims() []startClaim {
	return []startClaim{
		{"agent", "agent"}, {"metadata", "metadata"}, {"chosen-session", "session"}, {"named-handlers", "handler"},
	}
}
