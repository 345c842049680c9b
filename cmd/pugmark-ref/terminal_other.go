//go:build !linux

package main

import "os"

// terminal takes every character device but the null device for a terminal.
func terminal(file *os.File) bool {
	info, err := file.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && (nullErr != nil || !os.SameFile(info, null))
}
