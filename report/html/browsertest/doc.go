// Package browsertest opens pages in a real Chromium without a window, for tests of
// what a page does and looks like. It starts the browser itself, installs it where
// that is possible, and leaves no process behind.
//
// It judges nothing: it tells what the page asked for, said and shows. No program
// may import it. Start reading at [Start].
package browsertest
