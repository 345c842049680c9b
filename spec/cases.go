package spec

import (
	"embed"
	"io/fs"
)

// caseFiles holds every file below cases, its README included: which of them
// are cases is for package casefile to say.
//
//go:embed all:cases
var caseFiles embed.FS

// Cases returns the built-in cases: a file system whose root has the folders
// handler and runtime. The path of a file in it, less its extension, is the
// ID of the case.
func Cases() fs.FS {
	// Sub refuses only a path that is not valid, which this one is.
	sub, _ := fs.Sub(caseFiles, "cases")
	return sub
}
