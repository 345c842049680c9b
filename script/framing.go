package script

// Framing is how a stream of records is laid out and delivered. The zero value
// is the recommended form: compact records, a single LF after each, each record
// in one write.
type Framing struct {
	// Before is written before the first record.
	Before string `yaml:"before,omitempty" json:"before,omitempty"`
	// Between is written between records; LF when absent, nothing when empty.
	Between *string `yaml:"between,omitempty" json:"between,omitempty"`
	// After is written after the last record; LF when absent.
	After *string `yaml:"after,omitempty" json:"after,omitempty"`
	// Style is how each record is laid out.
	Style Style `yaml:"style,omitempty" json:"style,omitempty"`
	// Unpadded writes base64 without its padding.
	Unpadded bool `yaml:"unpadded,omitempty" json:"unpadded,omitempty"`
	// Zeros writes every empty field out, with its zero value.
	Zeros bool `yaml:"zeros,omitempty" json:"zeros,omitempty"`
	// Chunk is the number of bytes a write; zero is one record with what follows
	// it. Each write is flushed.
	Chunk int `yaml:"chunk,omitempty" json:"chunk,omitempty"`
	// Pause is waited between two writes.
	Pause Duration `yaml:"pause,omitempty" json:"pause,omitempty"`
}

// Style is how a record's JSON is laid out; all styles are legal.
type Style string

const (
	Compact  Style = ""         // no white space at all
	Pretty   Style = "pretty"   // indented over several lines
	Tabs     Style = "tabs"     // a tab on both sides of every token
	Carriage Style = "carriage" // CR on both sides of every token
	Escaped  Style = "escaped"  // \u escapes for everything that is not ASCII, and for a letter of each field name
	Reversed Style = "reversed" // fields in the opposite order
)

// Answer is what a server of section 7 says to a request, in place of the right
// answer. The zero value is the right answer.
type Answer struct {
	// Status replaces 200.
	Status int `yaml:"status,omitempty" json:"status,omitempty"`
	// Headers are set over the right ones; an empty value removes the field.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty"`
	// Body replaces the entry's.
	Body *Body `yaml:"body,omitempty" json:"body,omitempty"`
	// Truncate closes the connection after this many bytes of the body, with the
	// Content-Length of the whole or, chunked, without the last chunk.
	Truncate *int `yaml:"truncate,omitempty" json:"truncate,omitempty"`
	// Delay is waited before the answer.
	Delay Duration `yaml:"delay,omitempty" json:"delay,omitempty"`
	// Held waits with the answer until the main invocation is over, in the input of one
	// that is played beside it.
	Held bool `yaml:"held,omitempty" json:"held,omitempty"`
	// Chunked sends the body in chunks, without Content-Length.
	Chunked bool `yaml:"chunked,omitempty" json:"chunked,omitempty"`
	// Drop closes the connection after the whole answer, which did not announce it.
	Drop bool `yaml:"drop,omitempty" json:"drop,omitempty"`
	// Missing makes the server not know the key: 404.
	Missing bool `yaml:"missing,omitempty" json:"missing,omitempty"`
}
