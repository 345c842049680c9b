package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pugmark.dev/conform/process"
)

// errInterrupted is what ends a verb that was interrupted before it had anything to
// show, and has said so.
var errInterrupted = errors.New("interrupted")

const (
	// sayTime is how long the last words of an interrupted program may take.
	sayTime = 100 * time.Millisecond
	// sameSignal is for how long after the first signal another one is the same: GNU
	// timeout signals the program and then its group, which the program is in.
	sameSignal = 500 * time.Millisecond
)

// interrupted returns a context that ends with the first signal that asks the
// program to end: what was started is ended then, and the report of what ran is
// written. The second signal ends the program at once, whatever it waits for: all
// processes are killed, and reports that are not written yet are not written. Signals
// that whoever started the program wants ignored, as nohup does, stay ignored.
func interrupted(programs *process.Set, say io.Writer, done *written) (context.Context, func()) {
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
	over := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-signals:
			case <-over:
				return
			}
			switch {
			case first.IsZero():
				first = time.Now()
				cancel()
			case time.Since(first) >= sameSignal:
				endAtOnce(programs, say, done)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}

// endAtOnce ends the program and all that it started.
func endAtOnce(programs *process.Set, say io.Writer, done *written) {
	programs.EndAll(0)
	process.KillDescendants() // the drivers of runtimes and what sets a subject up too
	// Said from another goroutine: whoever should read it may be what is waited for.
	said := make(chan struct{})
	go func() {
		defer close(said)
		fmt.Fprintf(say, "pugmark-conform: interrupted twice: ended at once, %s\n", done.close())
	}()
	select {
	case <-said:
	case <-time.After(sayTime):
	}
	os.Exit(statusError)
}

// surviveUnreadPipes has a write to a pipe that nobody reads fail, also on standard
// output and error. Without it Go ends the program there, and with it goes all that
// would have ended the processes of the subject and written the reports. Those processes
// get the signal's usual action, which they would not if it were ignored here.
func surviveUnreadPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
