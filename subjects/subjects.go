package subjects

import (
	"embed"
	"io/fs"
)

// files names its folders one by one, so that nothing that a tool has left in
// them comes along: names with a leading dot or underscore stay out.
//
//go:embed python-raw python-runtime python-sdk python-sdk-minimal reference-cli reference-driver
var files embed.FS

// Files returns the folders of the subjects, by name.
func Files() fs.FS { return files }
