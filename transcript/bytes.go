package transcript

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bytes is data that reads well in a stored transcript: a JSON string when it is
// UTF-8 that JSON carries unchanged, else an object with base64 in it.
type Bytes []byte

// MarshalJSON writes the form that loses nothing.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
}

// UnmarshalJSON reads both forms.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err == nil {
		*b = Bytes(s)
		return nil
	}
	var o struct {
		Base64 string `json:"base64"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("bytes of a transcript: %w", err)
	}
	raw, err := base64.StdEncoding.DecodeString(o.Base64)
	if err != nil {
		return fmt.Errorf("bytes of a transcript: %w", err)
	}
	*b = raw
	return nil
}

// IsZero makes empty data vanish from a stored event.
func (b Bytes) IsZero() bool { return len(b) == 0 }
