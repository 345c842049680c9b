package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pugmark.dev/conform/process"
)

// sayTime is how long the last words of an interrupted program may take.
const sayTime = 100 * time.Millisecond

// interrupted returns a context that ends with the first signal that asks the
// program to end: what was started is ended then, and the report of what ran is
// written. The second signal ends the program at once, whatever it waits for: all
// processes are killed, and there is no report. Signals that whoever started the
// program wants ignored, as nohup does, stay ignored.
func interrupted(programs *process.Set, say io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var asked []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 { // to Notify, no signals are all signals
		return ctx, cancel
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, asked...)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			programs.EndAll(0)
			process.KillDescendants() // the drivers of runtimes and what sets a subject up too
			// Said from another goroutine: whoever should read it may be what is waited for.
			said := make(chan struct{})
			go func() {
				defer close(said)
				fmt.Fprintln(say, "pugmark-conform: interrupted twice: ended at once, without a report")
			}()
			select {
			case <-said:
			case <-time.After(sayTime):
			}
			os.Exit(statusError)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
