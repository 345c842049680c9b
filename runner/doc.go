// Package runner chooses cases, stages them with a subject, has their evidence
// judged, and puts the results together as a run.
//
// It must not judge, and it must not know how results are shown: whoever wants to
// watch gives it a [Watcher].
//
// Start reading at [Run].
package runner
