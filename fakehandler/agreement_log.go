package fakehandler

import (
	"errors"
	"io"

	"pugmark.dev/conform/protocol"
)

// sessionLog is what an invocation's input says, up to the lifecycle event.
type sessionLog struct {
	// memory is the root of the memory server, if one was announced.
	memory  string
	entries []*logEntry
	events  []Event
	// unknownVersion: the stream is of a version of the protocol that this handler
	// does not know, so it must end without Outputs (section 17).
	unknownVersion bool
}

// logEntry is a replayed entry and, once it was asked for, its body.
type logEntry struct {
	protocol.Input
	loaded bool
	body   []byte
	err    error
}

// protocolVersion is what this handler knows, as metadata.version has it.
const protocolVersion = "1"

// readLog reads until the lifecycle event has arrived. The empty lifecycle event is
// told from a no-op record by the end of input that follows it (reading R27).
func readLog(r io.Reader) (*sessionLog, error) {
	log := &sessionLog{}
	decoder := protocol.NewInputDecoder(r)
	empty := false
	for leading := true; ; leading = false {
		record, err := decoder.Next()
		switch {
		case errors.Is(err, io.EOF) && empty:
			return log, nil
		case errors.Is(err, io.EOF):
			return nil, ErrNoLifecycle
		case err != nil:
			return nil, err
		}
		in := record.Value
		empty = isEmpty(in)
		switch in.Event {
		case protocol.EventProtocol:
			if leading && in.Metadata["version"] != protocolVersion {
				log.unknownVersion = true
				return log, nil
			}
		case protocol.EventMemory:
			log.memory = in.URL
		case protocol.EventStart, protocol.EventFork, protocol.EventWake:
			log.events = append(log.events, Event{Event: in.Event})
			return log, nil
		case protocol.EventPush:
			log.events = append(log.events, Event{Event: in.Event, Name: in.Name})
			log.entries = append(log.entries, &logEntry{Input: in})
		case "":
			if !empty {
				log.entries = append(log.entries, &logEntry{Input: in})
			}
		}
	}
}

// isEmpty reports whether no field that section 4 knows has a value, written out or
// not (section 3.2).
func isEmpty(in protocol.Input) bool {
	return in.Event == "" && in.URL == "" && in.Size == 0 && in.ContentType == "" && in.ContentEncoding == "" &&
		in.SchemaURL == "" && in.Name == "" && len(in.Metadata) == 0 && len(in.Data) == 0
}

// latest is the by-name look-up: the last entry of the name, or nil.
func (l *sessionLog) latest(name string) *logEntry {
	for i := len(l.entries) - 1; i >= 0; i-- {
		if l.entries[i].Name == name {
			return l.entries[i]
		}
	}
	return nil
}
