package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

// complain says on standard error what went wrong, as one line that is safe for a
// terminal whatever stands in it, and returns the exit status. It is the only place
// that prints errors.
func (a *app) complain(ctx context.Context, err error) (status int) {
	status = exitOther
	var failure *reference.InvocationError
	switch {
	case ctx.Err() != nil:
		err = errInterrupted
	case errors.Is(err, errUnread):
		return status
	case errors.As(err, &failure):
		status = exitFailed
		failure.Stderr = nil // it went to our own as it came
	}
	a.say(explain(err))
	return status
}

// errInterrupted takes the place of what an interruption led to.
var errInterrupted = errors.New("interrupted; what was committed stays, so run it again to go on")

// say writes a line to standard error.
func (a *app) say(text string) { fmt.Fprintf(a.err, "pugmark-ref: %s\n", safe(text)) }

// explain is the sentence for an error: where, what, and what to do.
func explain(err error) string {
	text := flat(err)
	if hint := hintFor(err); hint != "" {
		text += "; " + hint
	}
	return text
}

// hinted is an error with what to do about it.
type hinted struct {
	error
	hint string
}

// Unwrap gives the error without the hint.
func (h *hinted) Unwrap() error { return h.error }

// hint adds to an error what to do about it; of several hints the outermost counts.
func hint(err error, format string, arguments ...any) error {
	return &hinted{err, fmt.Sprintf(format, arguments...)}
}

// flat is an error's text with what [errors.Join] gives lines of their own on one
// line. Other line ends are somebody's bytes.
func flat(err error) string {
	text := err.Error()
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil && inner.Error() != "" {
			// The text around it may be escaped already.
			return strings.NewReplacer(inner.Error(), flat(inner), safe(inner.Error()), flat(inner)).Replace(text)
		}
	case interface{ Unwrap() []error }:
		var lines, parts []string
		for _, one := range err.Unwrap() {
			lines = append(lines, one.Error())
			parts = append(parts, flat(one))
		}
		if text == strings.Join(lines, "\n") {
			return strings.Join(parts, "; ")
		}
		for i := range lines {
			text = strings.Replace(text, lines[i], parts[i], 1)
		}
	}
	return text
}

// hintFor says what to do about an error of the layers below, "" where its own text
// does or nothing is known.
func hintFor(err error) string {
	var own *hinted
	var failure *reference.InvocationError
	var missing *storage.NoSessionError
	switch {
	case errors.As(err, &own):
		return own.hint
	case errors.As(err, &failure):
		return handlerHint(failure)
	case errors.As(err, &missing):
		return fmt.Sprintf("make it with `pugmark-ref start --session %s`, or correct the session or -b", missing.Session)
	case errors.Is(err, storage.ErrDamaged):
		return "put the file back from a copy of the store, or start another session"
	case errors.Is(err, storage.ErrInvalidKey):
		return namespaceHint
	case errors.Is(err, protocol.ErrInvalidUTF8):
		return "give names, types and metadata in UTF-8"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "let this user read and write the store's folder, or give -b another"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room where the store is, or in " + os.TempDir() + " for what is read, and run it again"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "allow more open files with ulimit -n"
	}
	return ""
}

const namespaceHint = "use a shorter memory namespace, in which all but a-z 0-9 - _ counts three bytes each"

// handlerHint says what to do about a handler that failed.
func handlerHint(failure *reference.InvocationError) string {
	const again = "nothing of it is committed, so mend the handler and run it again"
	switch failure.Reason {
	case reference.ReasonStart:
		return startHint(failure.Err)
	case reference.ReasonLimit:
		return "start a session with less metadata"
	case reference.ReasonExit:
		if failure.Exit == 0 {
			return "a handler for --rpc must serve HTTP on descriptor 3, so leave --rpc out for one that reads standard input"
		}
		return again
	case reference.ReasonConnection:
		return connectionHint(failure.Err)
	case reference.ReasonStatus:
		if failure.Status == http.StatusNotFound {
			return "nothing of it is committed, so check the path of the service's URL"
		}
		return "nothing of it is committed, so look in the service's own log"
	case reference.ReasonStream:
		return "nothing of it is committed, so have the handler write records alone there and all else to standard error"
	case reference.ReasonOutput:
		return outputHint(failure.Err)
	default:
		return again
	}
}

func startHint(err error) string {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "name a program, not a folder"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "check the program's name, and that it is installed, with the interpreter that its first line names"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return "make it a program with a first line such as #!/bin/sh and chmod +x, or name its interpreter before it, as in `-- python handler.py`"
	default:
		return "check the command"
	}
}

func connectionHint(err error) string {
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start the service first, or correct its URL in --url or --handler"
	case errors.As(err, &name):
		return "correct the host in --url or --handler"
	default:
		return "nothing of it is committed, so see that the service answers to the end"
	}
}

func outputHint(err error) string {
	var missing *storage.NoSessionError
	switch {
	case errors.As(err, &missing):
		return "have the handler write to a session that exists, or make it with `pugmark-ref start --session " + missing.Session + "`"
	case errors.Is(err, storage.ErrInvalidKey):
		return namespaceHint
	default:
		return "nothing of it is committed, so correct what the handler writes"
	}
}
