// Package schema publishes the JSON Schemas of a report and of a diff, and validates by them. It
// stands apart from package report because a validator takes milliseconds to start
// up, and the program that writes reports is also the handler that it starts
// hundreds of times in a run.
package schema
