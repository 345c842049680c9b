package fakehandler

import "encoding/json"

// observed is the body of conform/observed.
type observed struct {
	Session  string            `json:"session"`
	Agent    string            `json:"agent"`
	Metadata map[string]string `json:"metadata"`
	Snapshot *int64            `json:"snapshot,omitempty"`
	Entries  []observedEntry   `json:"entries"`
	Events   []Event           `json:"events"`
}

// observedEntry is an entry as the handler got it: a body, decoded, or an error.
type observedEntry struct {
	Event       string            `json:"event,omitempty"`
	Name        string            `json:"name,omitempty"`
	Size        int64             `json:"size,omitempty"`
	ContentType string            `json:"content-type,omitempty"`
	SchemaURL   string            `json:"schema-url,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	outcomeOf
}

// outcomeOf is a body, an empty one too, or why there is none.
type outcomeOf struct {
	Body  *[]byte `json:"body,omitempty"` // encoding/json writes base64
	Error string  `json:"error,omitempty"`
}

func bodyOrError(body []byte, err error) outcomeOf {
	if err != nil {
		return outcomeOf{Error: err.Error()}
	}
	if body == nil {
		body = []byte{}
	}
	return outcomeOf{Body: &body}
}

// loaded is the body of conform/loaded.
type loaded struct {
	Name   string          `json:"name"`
	As     string          `json:"as"`
	Found  bool            `json:"found"`
	Text   *string         `json:"text,omitempty"`
	JSON   json.RawMessage `json:"json,omitempty"`
	Base64 *[]byte         `json:"base64,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// readMemory is the body of conform/memory.
type readMemory struct {
	Key string `json:"key"`
	outcomeOf
}

// unsupported is the body of conform/unsupported.
type unsupported struct {
	Op    string `json:"op"`
	Field string `json:"field,omitempty"`
}
