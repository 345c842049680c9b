//go:build unix && !linux

package process

// KillDescendants does nothing where descendants can't be found.
func KillDescendants() {}
