package report

import (
	"errors"
	"fmt"
	"io"

	"pugmark.dev/conform/result"
)

// ErrNoBadge says that a run makes no badge: it is of a selection, and a badge
// speaks for a whole run.
var ErrNoBadge = errors.New("a badge speaks for a whole run, and this one is of a selection; run every case without patterns and filters, or put the reports of all shards together with `pugmark-conform report merge`")

// badge is what the endpoint badge of shields.io reads, its schema version 1.
type badge struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
}

// WriteBadge writes the verdict as JSON for the endpoint badge of shields.io. A run
// as expected says how many results are known failures. A run of a selection or of one
// shard is [ErrNoBadge].
func WriteBadge(w io.Writer, run *result.Run) error {
	if !run.Selection.IsWhole() {
		return ErrNoBadge
	}
	b := badge{SchemaVersion: 1, Label: "pugmark conformance", Message: conclusion(run), Color: "lightgrey"}
	switch ExitStatus(run) {
	case ExitConformant:
		b.Color = "brightgreen"
		if run.Verdict == result.AsExpected {
			b.Color = "yellow"
		}
	case ExitNotConformant:
		b.Color = "red"
	case ExitIncomplete:
		b.Color = "orange"
	}
	text, err := result.EncodeJSON(b, 1)
	if err != nil {
		return fmt.Errorf("write the badge: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the badge: %w", err)
	}
	return nil
}
