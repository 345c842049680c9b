package casefile

import _ "embed"

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of YAML cases, for completion in
// editors. It says less than the loader: what it refuses the loader refuses, not
// the other way round. It is made from the types by this package's tests.
func Schema() []byte { return []byte(schema) }

//go:embed known-failures.schema.json
var knownFailuresSchema string

// KnownFailuresSchema returns the JSON Schema (draft 2020-12) of known-failures
// files, which says less than the loader too.
func KnownFailuresSchema() []byte { return []byte(knownFailuresSchema) }
