package casefile

import "strings"

// Shape is what one argument of a verb is.
type Shape string

const (
	// NewSession is the name that the verb gives to a session.
	NewSession Shape = "NAME"
	// SessionName is the name of a session of the case.
	SessionName Shape = "SESSION"
	// FileName is a file of the story.
	FileName Shape = "FILE"
	// RequirementID is a requirement that the case covers.
	RequirementID Shape = "REQUIREMENT"
	// Fields is any number of key=value: the keys of [Start] or [Push], a dot
	// before a key of an inner mapping, and text, json and base64 for body.text,
	// body.json and body.base64.
	Fields Shape = "[KEY=VALUE...]"
	// FileOrFields is a file, or at least one key=value.
	FileOrFields Shape = "FILE|KEY=VALUE..."
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

// Usage is the verb with its arguments.
func (v Verb) Usage() string {
	words := []string{v.Name}
	for _, a := range v.Args {
		words = append(words, string(a))
	}
	return strings.Join(words, " ")
}

// Verbs returns the commands of stories.
func Verbs() []Verb {
	return []Verb{
		{Name: "start", Args: []Shape{NewSession, Fields}, Failure: true},
		{Name: "push", Args: []Shape{SessionName, FileOrFields}, Failure: true},
		{Name: "script", Args: []Shape{FileName}},
		{Name: "run", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "run-once", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "log", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "inspect", Args: []Shape{SessionName}, Asserts: true, Failure: true},
		{Name: "require", Args: []Shape{RequirementID}},
		{Name: "expect", Args: []Shape{FileName}, Asserts: true},
	}
}
