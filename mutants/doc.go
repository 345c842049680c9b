// Package mutants is the proof that the cases can fail and that they do not fail
// too much. It holds wrong runtimes and wrong handlers, each broken in one place
// and caught by a check that cites what it breaks ([Mutant]); correct but unusual
// ones, which no check may fail ([Twin]); and subjects that do nothing, which may
// pass nothing ([Idler]).
//
// Every one of them is a value that wraps a seam: a stream, a transport, a bucket,
// a server's answer. Neither the reference nor the scripted handler has a switch
// for them.
//
// It must not judge: what is caught is read from the results of an ordinary run.
//
// Start reading at [Mutant], then [All] and one file of it, then [Kill].
package mutants
