package script

// Body is what an entry holds, as a case writes it: exactly one of Text, JSON,
// Base64 and Repeat is set.
type Body struct {
	// Text is the body's UTF-8 text.
	Text *string `yaml:"text,omitempty" json:"text,omitempty"`
	// JSON is any value; the body is its compact JSON text. Numbers keep their
	// digits. For a null write `text: "null"`.
	JSON JSON `yaml:"json,omitempty" json:"json,omitempty"`
	// Base64 is the body's bytes, padded, in the standard alphabet.
	Base64 *string `yaml:"base64,omitempty" json:"base64,omitempty"`
	// Repeat is a text written many times over, for large bodies.
	Repeat *Repeat `yaml:"repeat,omitempty" json:"repeat,omitempty"`
	// Encoding is the content coding that the body is stored and delivered in:
	// gzip or zstd. What a matcher compares is the decoded body.
	Encoding string `yaml:"encoding,omitempty" json:"encoding,omitempty"`
	// Frames splits an encoded body into this many gzip members or zstd frames;
	// zero is one.
	Frames int `yaml:"frames,omitempty" json:"frames,omitempty"`
}

// Repeat is Text written Times times.
type Repeat struct {
	Text  string `yaml:"text" json:"text"`
	Times int    `yaml:"times" json:"times"`
}
