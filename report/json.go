package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/coverage"
	"pugmark.dev/conform/result"
)

// everyDepth is deeper than any member of a report.
const everyDepth = 16

// WriteJSON writes the run as a report, `pugmark-conform/report/v1`. The same run
// gives the same bytes: cases stand by ID and transport, requirements as given,
// maps by key, and no list is null. Texts of subjects are bounded
// ([result.MaxText]); of their bytes, those that are no UTF-8 and those that would
// act on a reader's terminal are written visibly ([result.EncodeJSON]).
//
// The last member, `complete`, is set by WriteJSON and by no one else: it says
// that the file was written to its end. What it says of the run, an interrupted
// one too, stands in the verdict.
func WriteJSON(w io.Writer, run *result.Run) error {
	r := ordered(run)
	r.Complete = true
	text, err := result.EncodeJSON(r, everyDepth)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// ErrIncomplete is wrapped by what [ReadJSON] returns for a report whose writing
// did not come to its end. Nothing may be concluded from one.
var ErrIncomplete = errors.New("the report is not complete")

// ReadJSON reads a report that [WriteJSON] wrote. A report that is cut short or
// lacks `complete` wraps [ErrIncomplete]; one of another schema, with a member or
// a verdict that the schema does not have, or with text after it is refused with
// the place. So is one of which totals, verdicts and cases don't agree: it was changed
// after it was written, and what it concludes is not what was seen.
func ReadJSON(r io.Reader) (*result.Run, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	run, err := decoded(data)
	if err != nil {
		return nil, err
	}
	if err := coverage.Disagreement(run); err != nil {
		return nil, fmt.Errorf("read the report: %w; take the file that the run wrote, or run again", err)
	}
	return run, nil
}

// AsStored is the run as a reader of its report gets it. Every format is made of that,
// so that the same report gives the same bytes, whether it comes from the file or from
// memory.
func AsStored(run *result.Run) (*result.Run, error) {
	var text bytes.Buffer
	if err := WriteJSON(&text, run); err != nil {
		return nil, err
	}
	return decoded(text.Bytes())
}

// decoded is the run that the text of a report holds, whatever it says.
func decoded(data []byte) (*result.Run, error) {
	if err := readable(data); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	run := new(result.Run)
	if err := result.DecodeStrict(data, run); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if err := errors.Join(missing(data), unknownVerdicts(run)); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	return run, nil
}

// readable looks at what has to hold before anything else of a report means
// anything.
func readable(data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: the file is empty", ErrIncomplete)
	}
	var head struct {
		Schema   *string `json:"schema"`
		Complete bool    `json:"complete"`
	}
	switch err := json.Unmarshal(data, &head); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it is cut short after %d bytes", ErrIncomplete, len(data))
	case err != nil:
		// The strict reading says it with line and column.
		return nil
	case head.Schema == nil:
		return fmt.Errorf("it names no schema, so it is no report of pugmark-conform")
	case *head.Schema != result.SchemaV1:
		return fmt.Errorf("its schema is %q, and this version reads %q", result.Visible(*head.Schema), result.SchemaV1)
	case !head.Complete:
		return fmt.Errorf("%w: its last member, complete, is not true, so the run that wrote it did not come to its end", ErrIncomplete)
	}
	return nil
}
