package spec

// Level says how binding a requirement is.
type Level string

// The levels. The first three are the words of RFC 2119, with MUST NOT, SHALL
// and REQUIRED counted as MUST, and so on.
const (
	LevelMust   Level = "MUST"
	LevelShould Level = "SHOULD"
	LevelMay    Level = "MAY"
	// LevelDesc marks what the text describes without a word of RFC 2119: a
	// peer that relied on it would be surprised by anything else.
	LevelDesc Level = "DESC"
)

// Levels returns every level, the most binding first.
func Levels() []Level { return []Level{LevelMust, LevelDesc, LevelShould, LevelMay} }

// IsMandatory reports whether breaking a requirement of this level makes a
// subject not conformant: MUST and DESC do, SHOULD is a warning, and MAY
// can't be broken.
func (l Level) IsMandatory() bool { return l == LevelMust || l == LevelDesc }

// words returns the words of RFC 2119 that count as the level.
func (l Level) words() []string {
	switch l {
	case LevelMust:
		return []string{"MUST", "MUST NOT", "REQUIRED", "SHALL", "SHALL NOT"}
	case LevelShould:
		return []string{"SHOULD", "SHOULD NOT", "RECOMMENDED", "NOT RECOMMENDED"}
	case LevelMay:
		return []string{"MAY", "OPTIONAL"}
	case LevelDesc:
		return nil
	}
	return nil
}

// Side says which peer a requirement binds.
type Side string

// The sides.
const (
	SideRuntime Side = "runtime"
	SideHandler Side = "handler"
	SideBoth    Side = "both"
)

// Sides returns every side.
func Sides() []Side { return []Side{SideRuntime, SideHandler, SideBoth} }

// Binds reports whether a requirement of side s binds a peer of the given
// kind, [SideRuntime] or [SideHandler]. SideBoth binds either. Asked about
// SideBoth, only SideBoth does.
func (s Side) Binds(kind Side) bool { return s == SideBoth || s == kind }

// Letter returns the short form that tables and reports use: R, H or B, and
// the empty string for what is no side.
func (s Side) Letter() string {
	switch s {
	case SideRuntime:
		return "R"
	case SideHandler:
		return "H"
	case SideBoth:
		return "B"
	}
	return ""
}

// Document names the source of a requirement. It is the first letter of the
// requirement's ID.
type Document string

// The documents, in the order in which requirements are listed.
const (
	// DocumentProtocol is the handler protocol itself.
	DocumentProtocol Document = "P"
	// DocumentStorage is what can be derived from the protocol about its
	// companion on storage.
	DocumentStorage Document = "S"
	// DocumentSDKPage is the page that presents the Python SDK, read as a
	// promise that an SDK of any language may claim to keep.
	DocumentSDKPage Document = "K"
)

// Documents returns every document in order.
func Documents() []Document {
	return []Document{DocumentProtocol, DocumentStorage, DocumentSDKPage}
}

// Title returns what a reader calls the document, or the letter itself if it
// is none of ours.
func (d Document) Title() string {
	switch d {
	case DocumentProtocol:
		return "Handler protocol"
	case DocumentStorage:
		return "Storage, derived from the protocol"
	case DocumentSDKPage:
		return "SDK page"
	}
	return string(d)
}

// ClaimSDKPage is the feature that a handler subject claims to be judged by
// the requirements of [DocumentSDKPage].
const ClaimSDKPage = "sdk-page"

// Requirement is one numbered statement that a peer is judged by.
type Requirement struct {
	// ID is document, section and slug, as in "P3/any-whitespace". It never
	// changes its meaning once released.
	ID string
	// Section is the section of the protocol that the requirement rests on.
	// A requirement of the SDK page names the section that its subject
	// matter belongs to.
	Section Section
	// Also lists further sections of the protocol that it rests on.
	Also []Section
	// Level is how binding it is.
	Level Level
	// LevelWord is the word the protocol uses, if it is another than Level:
	// "MUST NOT" for a MUST. Use [Requirement.Word] to read it.
	LevelWord string
	// Side is who is bound by it.
	Side Side
	// Text is the requirement, a full sentence or several.
	Text string
	// Readings lists the readings that bear on how the text is understood.
	// A check need not rest on all of them: each check cites its own.
	Readings []string
	// Page is the heading of the SDK page that promises it. Only
	// requirements of that document have one.
	Page string
	// Note says what else one should know: where a name comes from that our
	// copy of the protocol lacks, or what is not asserted. Often empty.
	Note string
	// Unobservable is the reason why no harness can see whether the
	// requirement is kept. Empty for what must have a case.
	Unobservable string
}

// IsMandatory reports whether breaking the requirement makes a subject, to
// which it applies, not conformant.
func (r Requirement) IsMandatory() bool { return r.Level.IsMandatory() }

// IsObservable reports whether a harness can see that the requirement is kept.
func (r Requirement) IsObservable() bool { return r.Unobservable == "" }

// Word returns the word that binds: the protocol's own ("MUST NOT"), or the
// level where the two are the same.
func (r Requirement) Word() string {
	if r.LevelWord != "" {
		return r.LevelWord
	}
	return string(r.Level)
}

// Document returns the source of the requirement, the first letter of its ID.
func (r Requirement) Document() Document {
	if r.ID == "" {
		return ""
	}
	return Document(r.ID[:1])
}

// Claim returns the feature that a subject must claim for the requirement to
// apply to it, or the empty string if it applies to every subject of its side.
func (r Requirement) Claim() string {
	if r.Document() == DocumentSDKPage {
		return ClaimSDKPage
	}
	return ""
}

// Sections returns every section that the requirement rests on, its main one
// first.
func (r Requirement) Sections() []Section {
	return append([]Section{r.Section}, r.Also...)
}
