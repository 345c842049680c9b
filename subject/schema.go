package subject

import _ "embed"

//go:embed subject.schema.json
var fileSchema []byte

// Schema is the JSON Schema (draft 2020-12) of a subject file, for editors. What
// relates one value to another, as a placeholder to its place and a claim to its
// template, the loader alone knows.
func Schema() []byte { return fileSchema }
