// Command bench measures the reference runtime and prints ratios, which hold on any
// machine, beside the times, which do not:
//
//	go run ./bench                  everything
//	go run ./bench replay bodies    some of it
//	go run ./bench race             two runtimes at one session, round by round
//
// Its limits are those that the project promises; a line that is over one says so,
// and the exit status is then 1. It starts pugmark-ref, which it builds first, to
// measure the memory of a whole program; Linux alone tells that.
//
// Start reading at main.go, which lists the benchmarks.
package main
