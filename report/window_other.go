//go:build !unix

package report

import "os"

// windowWidth knows no terminal here: the output is plain.
func windowWidth(*os.File) (int, bool) { return 0, false }
