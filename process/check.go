//go:build unix

package process

// Check says why c can't be started, as far as that can be seen without
// starting it: the error, a *StartError, is the one that Start would give.
func (c Command) Check() error {
	_, err := c.resolve()
	return err
}
