package fakehandler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pugmark.dev/conform/transcript"
)

// FaultNote begins the text of the Note event that an invocation records when its
// script, and not the runtime under test, is at fault.
const FaultNote = "script fault: "

// ReadRecords returns the transcripts of all invocations recorded in the folder, in
// the order of their numbers. Invocations may still be going on, or may have been
// killed: a last line cut short is left out. A faulty line before the last is an
// error with the file and the line.
func ReadRecords(folder string) ([]transcript.Transcript, error) {
	taken, err := numbers(folder)
	if err != nil {
		return nil, err
	}
	all := make([]transcript.Transcript, 0, len(taken))
	for _, number := range taken {
		t, err := readRecord(recordPath(folder, number))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func readRecord(path string) (transcript.Transcript, error) {
	t := transcript.Transcript{By: by}
	text, err := os.ReadFile(path)
	if err != nil {
		return t, fmt.Errorf("record of an invocation: %w", err)
	}
	left := map[string]int{} // by stream, the event that counts what was left out
	for line := 1; ; line++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return t, nil // nothing, or what a kill left of a line
		}
		text = rest
		if line == 1 {
			var h head
			err = json.Unmarshal(one, &h)
			t.By, t.Transport, t.Started = h.By, h.Transport, h.Started
		} else {
			var e transcript.Event
			err = json.Unmarshal(one, &e)
			if at, again := left[e.Stream]; again && e.Kind == transcript.Left {
				t.Events[at].Count += e.Count
				t.Events[at].Data = e.Data
			} else {
				if e.Kind == transcript.Left {
					left[e.Stream] = len(t.Events)
				}
				t.Events = append(t.Events, e)
			}
		}
		if err != nil {
			return t, fmt.Errorf("%s:%d: record of an invocation: %w", filepath.Base(path), line, err)
		}
	}
}

// Fault returns what was wrong with the script that the invocation played, or "".
// A harness looks at it before it blames a runtime for anything.
func Fault(t *transcript.Transcript) string {
	for _, e := range t.Events {
		if fault, ok := strings.CutPrefix(e.Text, FaultNote); ok && e.Kind == transcript.Note {
			return fault
		}
	}
	return ""
}

// WaitsFor reports whether the invocation has come to the point of its script where
// it waits for a file of this name, and has not gone on.
func WaitsFor(t *transcript.Transcript, name string) bool {
	waits := false
	for _, e := range t.Events {
		switch {
		case e.Kind != transcript.Note:
		case e.Text == waitingNote+name:
			waits = true
		case e.Text == name+goneOnNote:
			waits = false
		}
	}
	return waits
}
