package transcript

import "time"

// Kind says what an [Event] is.
type Kind string

const (
	// Spawn: a process was started. Text is its argument list, shell-quoted.
	Spawn Kind = "spawn"
	// Sent: the recording side wrote Data to Stream, in one write.
	Sent Kind = "sent"
	// Received: the recording side read Data from Stream, in one read.
	Received Kind = "received"
	// Closed: Stream ended. Text says who ended it and, when it matters, how
	// ("by us", "by the peer", "by the peer: connection reset").
	Closed Kind = "closed"
	// Request: an HTTP request, seen or made by the recording side.
	Request Kind = "request"
	// Response: the answer to the Request with the same Exchange.
	Response Kind = "response"
	// Exited: the process ended by itself or was ended; Ended says how.
	Exited Kind = "exited"
	// Killed: the recording side ended the process group; Text is the reason.
	Killed Kind = "killed"
	// Left: what of Stream came past the recording limit: Count bytes, of which only
	// the last are recorded, in Data.
	Left Kind = "left"
	// Environment: Variables is what the process was given or sees.
	Environment Kind = "environment"
	// Note: anything else worth knowing, in Text.
	Note Kind = "note"
)

// LateNote is the Text of the Note that stands before the write of a record which
// the script holds back: what comes behind it may be an answer to that record.
const LateNote = "the record that was held back goes out"

// HeldNote and ReleasedNote are the Texts of the Notes around the time in which an
// input stream has gone out but for its last write, while another invocation is
// played: in between, the two are in flight at the same time.
const (
	HeldNote     = "all but the end of the input is out; the end waits while another invocation is played"
	ReleasedNote = "the other invocation is over, and the end of the input goes out"
	// The same of an answer of a server.
	HeldAnswerNote     = "the answer waits while another invocation is played"
	ReleasedAnswerNote = "the other invocation is over, and the answer goes out"
)

// The streams an event can belong to.
const (
	Stdin  = "stdin"  // what the handler reads: the Input records (subprocess)
	Stdout = "stdout" // what the handler writes: the Output records (subprocess)
	Stderr = "stderr" // the handler's diagnostics
	Post   = "post"   // the body of the invocation request (rpc, http)
	Answer = "answer" // the body of its response (rpc, http)
	// Objects and Memory are the two servers of section 7.
	Objects = "objects"
	Memory  = "memory"
	// EarlierObjects and EarlierMemory are those servers of an earlier invocation,
	// which stayed up (P7/no-retention).
	EarlierObjects = "earlier-objects"
	EarlierMemory  = "earlier-memory"
)

// Event is one thing that happened.
type Event struct {
	// At is the time since the transcript began, in microseconds.
	At     int64  `json:"at-us"`
	Kind   Kind   `json:"kind"`
	Stream string `json:"stream,omitempty"`
	// Data is the bytes as they went over the wire; in a Left event, the last that did.
	Data Bytes  `json:"data,omitzero"`
	Text string `json:"text,omitempty"`
	// Count is how many bytes a Left event stands for, those in Data among them. Several
	// Left events of a stream add up, and the last with Data has its end.
	Count     int64             `json:"count,omitempty"`
	HTTP      *HTTP             `json:"http,omitempty"`
	Ended     *Ended            `json:"ended,omitempty"`
	Variables map[string]string `json:"variables,omitempty"`
}

// HTTP is the head of a request or of a response.
type HTTP struct {
	// Exchange numbers the request within its transcript, from 1; its response
	// carries the same number.
	Exchange int `json:"exchange"`
	// Method, Target (path and query as sent) and Proto stand on requests.
	Method string `json:"method,omitempty"`
	Target string `json:"target,omitempty"`
	Proto  string `json:"proto,omitempty"`
	// Status stands on responses.
	Status int `json:"status,omitempty"`
	// Header holds the fields as sent; Content-Length and Transfer-Encoding are
	// among them even where the library keeps them apart.
	Header map[string][]string `json:"header,omitempty"`
	// Length is the number of body bytes that went over the wire.
	Length int64 `json:"length,omitempty"`
	// Cut is set when the body ended before its announced length.
	Cut bool `json:"cut,omitempty"`
}

// Ended is how a handler's part in an invocation came to its end.
type Ended struct {
	// How is one of the How constants.
	How string `json:"how"`
	// Code is the exit status of a process, or the HTTP status of an answer.
	Code int `json:"code"`
	// Signal is the number of the signal that ended the process, and Name its name.
	Signal int    `json:"signal,omitempty"`
	Name   string `json:"name,omitempty"`
	// Detail says in words what Code and Signal can't.
	Detail string `json:"detail,omitempty"`
	// Group is how many processes of the group were alive when the handler had
	// ended, and had to be killed (a grandchild that holds stdout, for example).
	Group int `json:"group,omitempty"`
	// Left is how many processes were still there after the clean-up: always 0,
	// or the harness has a fault.
	Left int `json:"left"`
}

// The ways an invocation ends. The first two can be successes.
const (
	HowExit       = "exit"        // the process exited with Code
	HowAnswer     = "answer"      // a complete HTTP response with status Code
	HowSignal     = "signal"      // the process was ended by Signal, not by the harness
	HowCut        = "cut"         // the HTTP response ended early or broke
	HowNoAnswer   = "no-answer"   // no HTTP response came: connection refused, reset, closed
	HowHang       = "hang"        // the time limit passed; the harness ended the group
	HowFlood      = "flood"       // more output than the limit; the harness ended the group
	HowNotStarted = "not-started" // the process could not be started
	HowCancelled  = "cancelled"   // the run itself was ended, and the handler with it
)

// Success reports whether the invocation completed as sections 2.1 and 2.2 have
// it: exit status 0, or a whole answer with status 200.
func (e Ended) Success() bool {
	return e.How == HowExit && e.Code == 0 || e.How == HowAnswer && e.Code == 200
}

// Transcript is all events of one invocation, in the order they were recorded.
type Transcript struct {
	// By is the side that recorded: fakeruntime or fakehandler.
	By        string    `json:"by"`
	Transport string    `json:"transport"`
	Started   time.Time `json:"started"`
	Events    []Event   `json:"events"`
}

// Stream returns the bytes of the named stream in order from its head on, Sent and
// Received alike, and how many further bytes came after them; Tail has the last of
// those. Of a stream that is recorded whole it returns all.
func (t *Transcript) Stream(name string) (data []byte, left int64) {
	data, tail, left := t.parts(name)
	if int64(len(tail)) == left {
		return append(data, tail...), 0
	}
	return data, left
}

// Tail returns the end of the named stream, as far as it is recorded, when Stream does
// not have it.
func (t *Transcript) Tail(name string) []byte {
	if _, tail, left := t.parts(name); int64(len(tail)) != left {
		return tail
	}
	return nil
}

// Missing is how many bytes of the named stream are not recorded: they came between
// what Stream and what Tail returns.
func (t *Transcript) Missing(name string) int64 {
	_, tail, left := t.parts(name)
	return left - int64(len(tail))
}

func (t *Transcript) parts(name string) (head, tail []byte, left int64) {
	for i := range t.Events {
		e := &t.Events[i]
		if e.Stream != name {
			continue
		}
		switch e.Kind {
		case Sent, Received:
			head = append(head, e.Data...)
		case Left:
			left += e.Count
			if len(e.Data) > 0 {
				tail = e.Data
			}
		}
	}
	return head, tail, left
}

// InputStream is the name of the stream that has the Input records.
func (t *Transcript) InputStream() string {
	if t.Transport == "subprocess" {
		return Stdin
	}
	return Post
}

// OutputStream is the name of the stream that has the Output records.
func (t *Transcript) OutputStream() string {
	if t.Transport == "subprocess" {
		return Stdout
	}
	return Answer
}

// Inputs is Stream of the input stream, whatever the transport.
func (t *Transcript) Inputs() (data []byte, left int64) { return t.Stream(t.InputStream()) }

// Outputs is Stream of the output stream, whatever the transport.
func (t *Transcript) Outputs() (data []byte, left int64) { return t.Stream(t.OutputStream()) }

// Ended returns how the invocation ended, or nil when the transcript stops before.
func (t *Transcript) Ended() *Ended {
	for i := len(t.Events) - 1; i >= 0; i-- {
		if t.Events[i].Ended != nil {
			return t.Events[i].Ended
		}
	}
	return nil
}
