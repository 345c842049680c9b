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
var reportV1 []byte

//go:embed diff-v1.json
var diffV1 []byte

// The $id of the schemas. Nothing fetches them.
const (
	ID     = "https://pugmark.dev/conform/schema/report-v1.json"
	DiffID = "https://pugmark.dev/conform/schema/diff-v1.json"
)

// V1 returns the JSON Schema (draft 2020-12) of a report. It is generated
// from the types of package result, their comments included; a test holds the
// published file to them.
func V1() []byte { return slices.Clone(reportV1) }

// DiffV1 returns that of what `report diff` writes as JSON, generated from the types
// of package report in the same way.
func DiffV1() []byte { return slices.Clone(diffV1) }

// Validate holds a report's text to [V1]. It names the places that do not
// fit, one a line, each as a JSON pointer.
func Validate(data []byte) error { return validate("report", ID, reportV1, data) }

// ValidateDiff holds the text of a diff to [DiffV1], as [Validate] does.
func ValidateDiff(data []byte) error { return validate("diff", DiffID, diffV1, data) }

func validate(what, id string, text, data []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read the schema of a %s: %w", what, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(id, schema); err != nil {
		return fmt.Errorf("add the schema of a %s: %w", what, err)
	}
	compiled, err := compiler.Compile(id)
	if err != nil {
		return fmt.Errorf("compile the schema of a %s: %w", what, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("the %s is no JSON: %w", what, err)
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		const most = 20
		all := misfits(what, invalid)
		if more := len(all) - most; more > 0 {
			all = append(all[:most], fmt.Errorf("and in %d more places", more))
		}
		return errors.Join(all...)
	} else if err != nil {
		return fmt.Errorf("validate the %s: %w", what, err)
	}
	return nil
}

// misfits lists the places at the leaves of what the validator says.
func misfits(what string, e *jsonschema.ValidationError) []error {
	if len(e.Causes) == 0 {
		return []error{fmt.Errorf("the %s does not fit its schema %w", what, e)}
	}
	var all []error
	for _, cause := range e.Causes {
		all = append(all, misfits(what, cause)...)
	}
	return all
}
