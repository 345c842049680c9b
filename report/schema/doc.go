// Package schema publishes the JSON Schema of a report and validates by it. It
// stands apart from package report because a validator takes milliseconds to start
// up, and the program that writes reports is also the handler that it starts
// hundreds of times in a run.
package schema
