// Package testscript plays .txtar cases: a documented table of verbs over the
// world of package stage. It is the only package that imports the library of the
// same name (tests aside), which parses the scripts.
//
// It must not judge: a verb acts and the world records. A story stops at the
// first step that does not go as it wants.
//
// Start reading at [Verbs], then [Play].
package testscript
