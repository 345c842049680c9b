// Package report shows a run: as JSON, the record that every other format is
// rendered from, and on a terminal. It also holds the published JSON Schema of
// that record, and the exit status that a run ends with.
//
// It must not judge, start or run anything: all that it says stands in a
// [result.Run], and the same run gives the same bytes, in whatever order its
// cases came in. What a subject wrote is shown so that it can't act: control
// characters and bytes that are no UTF-8 are visible in every format.
//
// Start reading at [WriteJSON] and [Terminal.Summary].
package report
