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
}

// Usage is the verb with its arguments, as testscript writes them.
func (v Verb) Usage() string {
	words := []string{v.Name}
	for _, a := range v.Args {
		word, _, _ := strings.Cut(string(a), ",")
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Verbs returns the commands of stories.
func Verbs() []Verb {
	return []Verb{
		{Name: "start", Args: []Shape{NewSession, StartFile}, Failure: true},
		{Name: "push", Args: []Shape{SessionName, PushFile}, Failure: true},
		{Name: "script", Args: []Shape{ScriptFile}},
		{Name: "run-once", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "run", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "log", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "inspect", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "require", Args: []Shape{RequirementID}},
		{Name: "expect", Args: []Shape{ExpectFile}, Asserts: true},
	}
}
