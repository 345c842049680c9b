// Package subjects is the subjects that we ship: a folder each, with a subject
// file and a small conformance handler. It is data alone, embedded so that an
// installed program has it; package subject knows what to do with it.
package subjects

import (
	"embed"
	"io/fs"
)

// files names its folders one by one, so that nothing that a tool has left in
// them comes along: names with a leading dot or underscore stay out.
//
//go:embed python-raw python-sdk
var files embed.FS

// Files returns the folders of the subjects, by name.
func Files() fs.FS { return files }
