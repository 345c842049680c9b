//go:build race

package fakehandler

// raceEnv keeps the race detector from waiting a second at the end of each process.
var raceEnv = []string{"GORACE=atexit_sleep_ms=0"}
