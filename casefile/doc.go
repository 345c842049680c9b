// Package casefile is the case model, its strict loader and its lint. A case is
// data: adding one needs no Go.
//
// A file is read in three steps, and each begins only when the one before found
// nothing wrong: its YAML (document.go), its keys and kinds of values against the
// types that it is decoded into (walk.go), and what the parts say together
// (handler.go, runtime.go, teller.go). Every problem has a file, a line and a
// column. `run` and `lint` use the same code.
//
// It must not run anything, and it must not know the reference.
//
// Start reading at [Case], then [Loader].
package casefile
