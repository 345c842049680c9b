// Package subjects is the subjects that we ship: a folder each, with a subject
// file and a small conformance handler in the language of what is tested. It is
// data alone, embedded so that an installed program has it; package subject
// knows what to do with it, and no case or verdict is known here.
//
// Start reading at python-raw, which needs no SDK.
package subjects
