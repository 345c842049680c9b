package gate

import _ "embed"

//go:embed gitlab.yml
var gitlab []byte

// GitLab returns the template of a GitLab job.
func GitLab() []byte { return append([]byte(nil), gitlab...) }
