package result

import (
	"encoding/json"
	"time"

	"pugmark.dev/conform/transcript"
)

// Evidence is all that one case recorded with one subject on one transport. It
// is stored beside the report and can be judged again.
type Evidence struct {
	Case string `json:"case"`
	// CaseDigest is the case's as it was played; empty when it is not known.
	CaseDigest string `json:"case-digest,omitempty"`

	Subject   string    `json:"subject"`
	Kind      string    `json:"kind"` // handler or runtime
	Transport string    `json:"transport"`
	Started   time.Time `json:"started"`
	// Nonce stood in the place of the case's placeholder for one; empty when nothing
	// did.
	Nonce string `json:"nonce,omitempty"`
	// Features is what the subject claims.
	Features []string `json:"features,omitempty"`
	// Steps is what the stage did, in order.
	Steps []Step `json:"steps"`
	// Invocations is one transcript for each invocation of a handler, in order.
	Invocations []Invocation `json:"invocations"`
	// Sessions maps the names that the case gives its sessions to their IDs.
	Sessions map[string]string `json:"sessions,omitempty"`
	// Fault is set when the harness could not stage the case.
	Fault string `json:"fault,omitempty"`
	// TimedOut is set when the limit of the whole case passed; it holds the limit.
	TimedOut string `json:"timed-out,omitempty"`
	// TimeScale multiplied every time limit of the case; zero is 1.
	TimeScale float64 `json:"time-scale,omitempty"`
	// Masked is the variables whose values were replaced in this evidence, which can't
	// be judged again then: it is not what was seen.
	Masked []string `json:"masked,omitempty"`
}

// Step is one act of the stage and its outcome.
type Step struct {
	// Line is the place in the case file, where there is one.
	Line int `json:"line,omitempty"`
	// Verb is invoke (of a handler), or a verb of a story.
	Verb string   `json:"verb"`
	Args []string `json:"args,omitempty"`
	// Requirement is what the steps since the last `require` prove.
	Requirement string `json:"requirement,omitempty"`
	// WantError is set when the case wants the step to be refused.
	WantError bool `json:"want-error,omitempty"`
	// Either is set when the case admits both outcomes of the step itself; what
	// it wants stands in an expectation.
	Either bool `json:"either,omitempty"`
	// Error is set when it was.
	Error *StepError `json:"error,omitempty"`
	// Output is what the step printed or returned, as JSON.
	Output json.RawMessage `json:"output,omitempty"`
	// Invocations is how many invocations had been recorded after this step.
	Invocations int `json:"invocations"`
	// Started is when an act on the subject began. Steps stand in the order in which
	// they ended.
	Started time.Time `json:"started,omitzero"`
	TookMS  int64     `json:"took-ms"`
}

// WithEnvironment is the last argument of a run whose runtime is given variables of
// its own environment.
const WithEnvironment = "with-environment"

// Killed is the field of the output of an operation under which the story has killed
// the runtime.
const Killed = "killed"

// StepError is a step's failure.
type StepError struct {
	// Kind is failed-invocation, request, internal, unsupported, crash or hang.
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// IsRefusal reports whether the runtime has refused what was asked, which is what a
// step that must be refused wants: that it failed inside, or died, is none.
func (e *StepError) IsRefusal() bool {
	return e != nil && (e.Kind == "request" || e.Kind == "failed-invocation")
}

// Invocation is one handler invocation and who recorded it.
type Invocation struct {
	// Step is the index of the step that caused it.
	Step int `json:"step"`
	// Role is main, control (a handler case's control) or beside (in flight while the
	// main one is played), or empty.
	Role       string                `json:"role,omitempty"`
	Transcript transcript.Transcript `json:"transcript"`
	// Objects maps each entry's URL path to the name of its record, so that
	// findings can speak of entries.
	Objects map[string]string `json:"objects,omitempty"`
}
