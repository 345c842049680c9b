package report

import "pugmark.dev/conform/spec"

// Renderer writes a run in the formats that are made from its report and what
// stands beside it: JUnit, Markdown and GitHub annotations. The zero value works.
//
// Everything is made of what the JSON report holds, as it stands there, whether the
// run comes from the file or from memory: the same report gives the same bytes.
type Renderer struct {
	// Registry gives titles and readings; nil leaves these out.
	Registry *spec.Spec
	// Evidence is the folder that the evidence of the run's cases is below; empty
	// leaves out what handlers wrote to stderr.
	Evidence string
	// Place is the file that annotations about a case point at, as a path from where
	// the run was started; empty, or nil, is none.
	Place func(caseID string) string
}
