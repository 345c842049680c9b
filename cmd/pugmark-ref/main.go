// Command pugmark-ref runs handlers of the pugmark handler protocol on sessions in
// a store of one's own, a folder or a bucket: the reference runtime as a command
// line.
//
// Exit status: 0 when all is well, 1 when an invocation failed by its handler, 2
// for wrong usage and everything else.
//
// Start reading at app.go; each verb has a file.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}
