// Package report shows a run: as JSON, the record that every other format is
// rendered from, on a terminal, and as what CI servers read; it compares runs, puts
// implementations side by side, and merges the shards of one run. It also holds the
// published JSON Schema of the record, and the exit status that a run ends with.
//
// It must not judge, start or run anything: all that it says stands in a
// [result.Run] and in the evidence beside it, and the same run gives the same bytes,
// in whatever order its cases came in. What a subject wrote is shown so that it
// can't act: control characters and bytes that are no UTF-8 are visible in every
// format, and nothing of it is markup, a link, or a command to a CI server.
//
// Start reading at [WriteJSON], [Terminal.Summary] and [Renderer]; then [Compare],
// [NewMatrix] and [Merge].
package report
