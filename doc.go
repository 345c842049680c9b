// Package conform is the root of pugmark-conform: it holds no code, only the
// test that keeps the import graph of the tree to its drawing.
package conform
