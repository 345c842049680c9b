package schema

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed report-v1.json
var schemaV1 []byte

// ID is the $id of the schema. Nothing fetches it.
const ID = "https://pugmark.dev/conform/schema/report-v1.json"

// V1 returns the JSON Schema (draft 2020-12) of a report. It is generated
// from the types of package result, their comments included; a test holds the
// published file to them.
func V1() []byte { return slices.Clone(schemaV1) }

// Validate holds a report's text to [V1]. It names the places that do not
// fit, one a line, each as a JSON pointer.
func Validate(data []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaV1))
	if err != nil {
		return fmt.Errorf("read the schema of reports: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(ID, schema); err != nil {
		return fmt.Errorf("add the schema of reports: %w", err)
	}
	compiled, err := compiler.Compile(ID)
	if err != nil {
		return fmt.Errorf("compile the schema of reports: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("the report is no JSON: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		const most = 20
		all := misfits(invalid)
		if more := len(all) - most; more > 0 {
			all = append(all[:most], fmt.Errorf("and in %d more places", more))
		}
		return errors.Join(all...)
	} else if err != nil {
		return fmt.Errorf("validate the report: %w", err)
	}
	return nil
}

// misfits lists the places at the leaves of what the validator says.
func misfits(e *jsonschema.ValidationError) []error {
	if len(e.Causes) == 0 {
		return []error{fmt.Errorf("the report does not fit its schema %w", e)}
	}
	var all []error
	for _, cause := range e.Causes {
		all = append(all, misfits(cause)...)
	}
	return all
}
