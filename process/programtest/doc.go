// Package programtest builds the programs of this module for tests that start them
// by the hundred, and has what such tests share.
package programtest
