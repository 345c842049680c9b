package reference

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// The statuses of a control message (section 9).
const (
	StatusRunning = "running"
	StatusStopped = "stopped"
	StatusUnknown = "unknown"
)

// Control is the body of a control message (section 9, P9/shape). The runtime
// alone writes them.
type Control struct {
	// Status is one of the Status constants.
	Status string `json:"status,omitempty"`
	// Reason is free text: the pause's own.
	Reason string `json:"reason,omitempty"`
	// StartAt is when a sleep ends, in RFC 3339 with fractions of a second where
	// there are any; zero for a pure pause. Lower-case "t" and "z" and leap
	// seconds are refused.
	StartAt time.Time `json:"start-at,omitzero"`
}

// maxControl bounds the control bodies that are read, in bytes. Reasons are free
// text, so it is generous.
const maxControl = 64 << 20

func (r *Runtime) readControl(ctx context.Context, entry storage.Entry) (Control, error) {
	var control Control
	data := entry.Data
	if !entry.Inline() {
		body, err := r.Store.OpenBody(ctx, entry.Digest)
		if err != nil {
			return Control{}, fmt.Errorf("reading control message %d: %w", entry.Sequence, err)
		}
		defer body.Close()
		if data, err = io.ReadAll(io.LimitReader(body, maxControl)); err != nil {
			return Control{}, fmt.Errorf("reading control message %d: %w", entry.Sequence, err)
		}
	}
	if err := json.Unmarshal(data, &control); err != nil {
		return Control{}, fmt.Errorf("reading control message %d: %w", entry.Sequence, err)
	}
	return control, nil
}

// controlEntry stores the control message of a pause (P10/control-at-commit): a
// sleep starts again at the commit time plus its clamped duration (P10/clamp). No
// other content type is used (P17/closed-content-types).
func (r *Runtime) controlEntry(ctx context.Context, p pause) (storage.Entry, error) {
	control := Control{Status: StatusStopped, Reason: p.reason}
	if p.sleep {
		control.StartAt = r.clock().Now().Add(protocol.ClampSleep(p.duration)).UTC()
	}
	data, err := json.Marshal(control)
	if err != nil {
		return storage.Entry{}, fmt.Errorf("encoding a control message: %w", err)
	}
	body, err := r.Store.PutBody(ctx, strings.NewReader(string(data)))
	if err != nil {
		return storage.Entry{}, err
	}
	return storage.Entry{Digest: body.Digest, Size: body.Size, Data: body.Data, ContentType: protocol.TypeControl}, nil
}
