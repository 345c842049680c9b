package result

// Check is one assertion of a case, citing one requirement.
type Check struct {
	// ID is unique within the case.
	ID          string   `json:"id"`
	Requirement string   `json:"requirement"`
	Readings    []string `json:"readings"`
	Verdict     Verdict  `json:"verdict"`
	// Where is the place in the evidence: "stdout, byte 17", "entry 2, name".
	Where string `json:"where"`
	Want  string `json:"want"`
	Got   string `json:"got"`
	// Diff is a structural or byte diff, where one helps.
	Diff string `json:"diff"`
}

// Case is the result of one case on one transport.
type Case struct {
	ID        string  `json:"id"`
	Transport string  `json:"transport"`
	Why       string  `json:"why"`
	Verdict   Verdict `json:"verdict"`
	// Reason says in one sentence why the verdict is not a pass.
	Reason     string  `json:"reason"`
	DurationMS int64   `json:"duration-ms"`
	Checks     []Check `json:"checks"`
	// Evidence is the path of the evidence folder of this case.
	Evidence string `json:"evidence"`
	// Rerun is the command that runs just this case again.
	Rerun string `json:"rerun"`
}

// Requirement is the result of one requirement over all cases of a run.
type Requirement struct {
	ID      string   `json:"id"`
	Level   string   `json:"level"`
	Side    string   `json:"side"`
	Section string   `json:"section"`
	Text    string   `json:"text"`
	Verdict Verdict  `json:"verdict"`
	Cases   []string `json:"cases"`
}

// Subject describes what was under test.
type Subject struct {
	Name       string   `json:"name"`
	Kinds      []string `json:"kinds"`
	Version    string   `json:"version"`
	Transports []string `json:"transports"`
	Features   []string `json:"features"`
}

// Selection is what was chosen to run.
type Selection struct {
	All      bool     `json:"all"`
	Patterns []string `json:"patterns"`
	Shard    string   `json:"shard"`
}

// IsShard reports whether the run is one part of several.
func (s Selection) IsShard() bool { return s.Shard != "" && s.Shard != "1/1" }

// IsWhole reports whether everything was run that there is for the subject. What is
// not speaks "of the selection".
func (s Selection) IsWhole() bool { return s.All && !s.IsShard() }

// Suite identifies the cases.
type Suite struct {
	Version string `json:"version"`
	// Cases is the digest of all case files, sha256:<hex>.
	Cases string `json:"cases"`
}

// Run is a whole run; its JSON form is the report.
type Run struct {
	Schema    string    `json:"schema"`
	Verdict   Verdict   `json:"verdict"`
	Subject   Subject   `json:"subject"`
	Selection Selection `json:"selection"`
	Suite     Suite     `json:"suite"`
	Platform  string    `json:"platform"`
	Command   []string  `json:"command"`
	Seed      int64     `json:"seed"`
	// Repeat is how often each case was played, each time with another seed: Seed, and
	// those that follow it. Absent when once.
	Repeat       int            `json:"repeat,omitempty"`
	Started      string         `json:"started"`
	DurationMS   int64          `json:"duration-ms"`
	Totals       map[string]int `json:"totals"`
	Requirements []Requirement  `json:"requirements"`
	Cases        []Case         `json:"cases"`
	// Known is what became of the known-failures file; absent when there was none.
	Known *Excuses `json:"known-failures,omitempty"`
	// Masked is the variables whose values stood in what was recorded, and were
	// replaced by their names there; absent when none did.
	Masked []string `json:"masked,omitempty"`
	// Complete is written last; a report without it is refused by every reader.
	Complete bool `json:"complete"`
}

// SchemaV1 is the value of Run.Schema.
const SchemaV1 = "pugmark-conform/report/v1"
