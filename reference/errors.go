package reference

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Reason says in one word why an invocation failed.
type Reason string

// The reasons.
const (
	// ReasonStart is a handler that could not be started.
	ReasonStart Reason = "start"
	// ReasonLimit is metadata too large for the transport (reading R20).
	ReasonLimit Reason = "limit"
	// ReasonExit is an exit status other than 0 (P2.1/nonzero-exit).
	ReasonExit Reason = "exit"
	// ReasonSignal is an end by a signal.
	ReasonSignal Reason = "signal"
	// ReasonStatus is an HTTP status other than 200 (P2.2/status-200).
	ReasonStatus Reason = "status"
	// ReasonConnection is an HTTP answer that did not come, or was cut short.
	ReasonConnection Reason = "connection"
	// ReasonStream is something on the output stream that is no record (reading R16).
	ReasonStream Reason = "stream"
	// ReasonOutput is a record that can't be carried out, such as a control
	// message or a write to a session that does not exist (readings R8, R42).
	ReasonOutput Reason = "output"
)

// InvocationError says that an invocation failed by its handler. Nothing of it is
// committed (S3/failed-leaves-nothing).
type InvocationError struct {
	// Session and Version are what the handler was invoked on.
	Session string
	Version int64
	// Reason says why in one word.
	Reason Reason
	// Exit is the exit status, for ReasonExit.
	Exit int
	// Signal is what ended the handler, for ReasonSignal.
	Signal syscall.Signal
	// Status is the HTTP status, for ReasonStatus.
	Status int
	// Stderr is what the handler wrote there, bounded; nil for none.
	Stderr *Capture
	// Err says more: for ReasonStream the place and the bytes. It may be nil.
	Err error
}

// Error gives one sentence, and what was kept of stderr on the lines after it. What
// a terminal would obey is shown as an escape in both.
func (e *InvocationError) Error() string {
	var b strings.Builder
	if e.Session != "" {
		fmt.Fprintf(&b, "invocation of session %s on version %d: ", e.Session, e.Version)
	}
	b.WriteString(e.what())
	if text := e.Stderr.String(); text != "" {
		b.WriteString("; its stderr:\n")
		b.WriteString(visible(strings.TrimRight(text, "\n"), "\n\t"))
	}
	return b.String()
}

func (e *InvocationError) what() string {
	var text string
	switch e.Reason {
	case ReasonStart:
		text = "the handler could not be started"
	case ReasonLimit:
		text = "the handler was not started"
	case ReasonExit:
		text = fmt.Sprintf("the handler exited with status %d", e.Exit)
	case ReasonSignal:
		text = fmt.Sprintf("the handler was ended by signal %d (%v)", int(e.Signal), e.Signal)
	case ReasonStatus:
		text = fmt.Sprintf("the handler answered with HTTP status %d", e.Status)
	case ReasonConnection:
		text = "the handler's answer did not arrive whole"
	case ReasonStream:
		text = "the handler wrote something other than records on its output stream"
	case ReasonOutput:
		text = "the handler wrote a record that can't be carried out"
	default:
		text = "the handler failed"
	}
	if e.Err != nil {
		text += ": " + visible(e.Err.Error(), "")
	}
	return text
}

// Unwrap gives Err.
func (e *InvocationError) Unwrap() error { return e.Err }

// visible escapes in text all that is not printable, other than what keep has: line
// ends could forge lines of a log, and a terminal obeys escape sequences. Messages
// quote what handlers and stores said where they name it; this is for what a library
// or a system call names.
func visible(text, keep string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsPrint(r) || strings.ContainsRune(keep, r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
