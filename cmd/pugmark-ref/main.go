// Command pugmark-ref runs handlers of the pugmark handler protocol on sessions in
// a store of one's own, a folder or a bucket: the reference runtime as a command
// line.
//
// Exit status: 0 when all is well, 1 when an invocation failed by its handler, 2
// for wrong usage, an interruption and everything else; `pugmark-ref help
// exit-status` says more.
//
// Start reading at app.go; each verb has a file. Every error is printed by errors.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(program()) }

// program runs until it is done or interrupted. A second signal ends it at once.
func program() (status int) {
	surviveUnreadPipes()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
}
