// Package casefile is the case model, its strict loader and its lint. A case is
// data: adding one needs no Go.
//
// It must not run anything, and it must not know the reference.
//
// Start reading at [Case], then [Load].
package casefile
