//go:build !race

package fakehandler

var raceEnv []string
