package casefile

import "strings"

// Shape is what one argument of a verb is.
type Shape string

const (
	// NewSession is the name that the verb gives to a session.
	NewSession Shape = "SESSION, new"
	// SessionName is the name of a session of the case.
	SessionName Shape = "SESSION"
	// RequirementID is a requirement that the case covers.
	RequirementID Shape = "REQUIREMENT"
	// StartFile is a file that holds a [Start]; it may be left out.
	StartFile Shape = "[FILE]"
	// PushFile is a file that holds a [Push].
	PushFile Shape = "FILE, an entry"
	// ScriptFile is a file that [ParseScript] reads.
	ScriptFile Shape = "FILE, a script"
	// AroundFile is a file that holds an [Around]; it may be left out.
	AroundFile Shape = "[FILE], what surrounds it"
	// HandlerName is the name of a handler that runs are given.
	HandlerName Shape = "NAME, a handler"
	// PointName is the name of a point at which a script waits.
	PointName Shape = "POINT"
	// Count is a number from 1; it may be left out.
	Count Shape = "[N]"
	// Delay is how long a command waits before it acts; it may be left out.
	Delay Shape = "[DELAY]"
	// ExpectFile is a file that holds a [RuntimeExpect] or a list of them.
	ExpectFile Shape = "FILE, expectations"
)

// Verb is a command of a story, as far as the lint knows it: what it does is
// defined in package testscript, which checks its own table against this one.
type Verb struct {
	Name string
	// Args is the shapes of the arguments, in order.
	Args []Shape
	// Asserts tells that a peer can fail the command, so that it is a check of
	// what was last required. Every command asserts that wants a failure.
	Asserts bool
	// Failure tells that the command may be turned round with a leading !.
	Failure bool
	// Either tells that a leading ? admits both outcomes: what is wanted stands in
	// an expectation.
	Either bool
	// Background tells that an & at the end has the story go on meanwhile, until
	// `join`.
	Background bool
}

// isOptional reports whether an argument may be left out; such arguments are the
// last.
func (s Shape) isOptional() bool { return strings.HasPrefix(string(s), "[") }

// Usage is the verb with its arguments, as testscript writes them.
func (v Verb) Usage() string {
	words := []string{v.Name}
	for _, a := range v.Args {
		word, _, _ := strings.Cut(string(a), ",")
		words = append(words, word)
	}
	if v.Background {
		words = append(words, "[&]")
	}
	return strings.Join(words, " ")
}

// Verbs returns the commands of stories.
func Verbs() []Verb {
	return []Verb{
		{Name: "start", Args: []Shape{NewSession, StartFile}, Failure: true, Background: true},
		{Name: "push", Args: []Shape{SessionName, PushFile}, Failure: true, Background: true},
		{Name: "script", Args: []Shape{ScriptFile}},
		{Name: "handler", Args: []Shape{HandlerName, ScriptFile}},
		{Name: "run-once", Args: []Shape{SessionName, AroundFile}, Asserts: true, Failure: true, Either: true, Background: true},
		{Name: "run", Args: []Shape{SessionName, AroundFile}, Asserts: true, Failure: true, Either: true, Background: true},
		{Name: "await", Args: []Shape{PointName, Count}},
		{Name: "release", Args: []Shape{PointName}},
		{Name: "join"},
		{Name: "kill-runtime", Args: []Shape{Delay}},
		{Name: "child", Args: []Shape{NewSession, SessionName, Count}, Asserts: true},
		{Name: "log", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "inspect", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "require", Args: []Shape{RequirementID}},
		{Name: "expect", Args: []Shape{ExpectFile}, Asserts: true},
	}
}
