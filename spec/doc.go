// Package spec holds what peers are judged by: the requirements of the
// pugmark handler protocol, numbered and in our own words; the readings, our
// answers where the protocol leaves a question open; and the cases that put a
// subject to the test. All three are data, embedded in the program.
//
// The package knows the words requirement, reading, section, level and side,
// and nothing of how a case looks, what a subject is or what a verdict is. It
// imports no other package of this module and does no work before [Load] is
// called, so that a program that only plays a peer does not pay for it.
//
// Start reading at [Load] and [Requirement]; README.md in this folder tells
// how requirements and readings are written and cited.
package spec
