// Package membucket is a bucket in memory: for tests, and for a runtime whose
// sessions need not outlive it.
package membucket
