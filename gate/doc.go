// Package gate holds the shell steps of the gates that CI servers run: go.sh, install.sh
// and run.sh, which action.yml at the root calls, and gitlab.yml, a template that calls
// the last two. It imports nothing, and its code is no more than what hands out the template.
// The tests of cmd/pugmark-conform run the scripts; what only a CI server can run is
// held to its form alone.
package gate
