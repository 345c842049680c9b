package fakehandler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"pugmark.dev/conform/protocol"
)

// Minimal is the smallest handler of the SDK's page, as the code of an [Agreement]:
// if the last entry is an input event, it is echoed in capitals, else the session is
// paused (K1/minimal-handler). The error is that of a body that can't be had, or that
// is no JSON.
func Minimal(ctx context.Context, s Session) error {
	text, err := lastInput(ctx, s.Entries())
	if err != nil {
		return err
	}
	if text == nil {
		return s.Write(protocol.Output{ContentType: protocol.TypePause, Data: []byte("nothing to echo")})
	}
	body, err := json.Marshal(struct {
		Kind string `json:"kind"`
		Text string `json:"text"`
	}{"echo", strings.ToUpper(*text)})
	if err != nil {
		return err
	}
	return s.Write(protocol.Output{ContentType: "application/json", Data: body})
}

// lastInput is the text of the last entry, or nil if that is no input event.
func lastInput(ctx context.Context, entries []Entry) (*string, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	body, err := entries[len(entries)-1].Body(ctx)
	if err != nil {
		return nil, fmt.Errorf("the last entry: %w", err)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, fmt.Errorf("the last entry: %w", err)
	}
	event, _ := value.(map[string]any) // names match exactly, which a struct's would not
	if event["kind"] != "input" {
		return nil, nil
	}
	if text, isText := event["text"].(string); isText {
		return &text, nil
	}
	return nil, nil
}
