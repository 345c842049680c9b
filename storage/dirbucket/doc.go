// Package dirbucket is a bucket in a folder of a local file system, atomic and
// durable between goroutines and processes.
//
// An object is written to a temporary file beside its target, synced, linked to
// its name with link(2), which fails if the name is taken, and then the folder is
// synced. So a name is whole from the moment it can be seen, of several writers
// one wins, and an object outlives a crash of the machine once Put returned. What
// a killed process leaves behind is a file whose name begins with a dot; it is
// no object and no listing shows it.
package dirbucket
