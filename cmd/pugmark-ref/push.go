package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) pushCommand() *cobra.Command {
	var session string
	var object reference.Object
	command := &cobra.Command{
		Use:   "push [FILE]",
		Short: "Append an object to a session, from standard input or a file",
		Long: `Append an object to a session, from standard input or a file.

A paused session is woken by it: its next run invokes the handler with wake. The
bytes are taken as they are, of any number.

Without --content-type, a JSON object, array or string is application/json,
other UTF-8 text is text/plain, and anything else, and what is over 16 MiB, is
application/octet-stream; with --content-type= the entry has none.`,
		Example: `  pugmark-ref push <<<'{"kind":"input","text":"hello"}'
  pugmark-ref push --name report --content-type text/markdown report.md`,
		Args: arguments(0, 1, "one file, or - for standard input"),
		RunE: func(command *cobra.Command, args []string) error {
			return a.with(command.Context(), func(runtime *reference.Runtime, store *openStore) error {
				id, err := store.session(session)
				if err != nil {
					return err
				}
				// Before anybody types an object for a session that does not exist.
				if _, err := runtime.Store.Manifest(command.Context(), id); err != nil {
					return err
				}
				free, err := a.readObject(command, &object, args)
				if err != nil {
					return err
				}
				defer free()
				_, err = runtime.Push(command.Context(), id, object)
				return err
			})
		},
	}
	sessionFlag(command, &session)
	command.Flags().StringVar(&object.Name, "name", "", "name of the entry")
	objectFlags(command, &object)
	return command
}

// objectFlags adds the flags that say what an object is.
func objectFlags(command *cobra.Command, object *reference.Object) {
	flags := command.Flags()
	flags.Func("content-type", "MIME `type` of the decoded body", typeValue(&object.ContentType))
	flags.Func("content-encoding", "`encoding` that the body is in already: gzip or zstd", encodingValue(&object.ContentEncoding))
	flags.Func("schema-url", "`URL` of the body's schema", urlValue("schema-url", &object.SchemaURL))
	metadataFlag(command, &object.Metadata)
}

// readObject reads an object's body from the file that the arguments name, or
// standard input, and fills in what the flags left open. Call free when the object
// is no longer needed.
func (a *app) readObject(command *cobra.Command, object *reference.Object, files []string) (free func(), err error) {
	spool := new(storage.Spool)
	free = func() { _ = spool.Close() }
	if err := a.spoolInput(command.Context(), spool, files); err != nil {
		free()
		return nil, err
	}
	// The type of an encoded body is that of what is in it, so nothing is guessed.
	if !command.Flags().Changed("content-type") && object.ContentEncoding == "" {
		object.ContentType = detectType(spool)
	}
	object.Body = spool.Reader()
	return free, nil
}

func (a *app) spoolInput(ctx context.Context, spool *storage.Spool, files []string) error {
	input := a.in
	if len(files) > 0 && files[0] != "-" {
		file, err := openFile(ctx, files[0])
		if err != nil {
			return err
		}
		defer file.Close()
		input = file
	} else if isTerminal(input) {
		a.say("reading the object from the terminal; end it with Ctrl-D on a line of its own, or give a file")
	}
	if _, err := io.Copy(spool, &interruptible{ctx: ctx, r: input}); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	return nil
}

// openFile opens what is to be pushed, if it is something that can be read.
func openFile(ctx context.Context, name string) (*os.File, error) {
	file, err := openWaiting(ctx, name)
	if err == nil {
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil && info.IsDir() {
			err = syscall.EISDIR
		}
		if err == nil {
			return file, nil
		}
		_ = file.Close()
	}
	if cause := new(fs.PathError); errors.As(err, &cause) {
		err = cause.Err
	}
	return nil, hint(fmt.Errorf("reading %.200q: %w", name, err), "give a file that can be read, or - for standard input")
}

// openWaiting opens a file. A named pipe is waited for until ctx ends.
func openWaiting(ctx context.Context, name string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result, 1)
	go func() {
		file, err := os.Open(name)
		opened <- result{file, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-opened:
		return got.file, got.err
	}
}

// detectLimit is the largest body in bytes that is looked at to find its type.
const detectLimit = 16 << 20

func detectType(spool *storage.Spool) string {
	const binary = "application/octet-stream"
	if spool.Size() > detectLimit {
		return binary
	}
	data, err := io.ReadAll(spool.Reader())
	switch {
	case err != nil, !utf8.Valid(data):
		return binary
	case isJSON(string(data)):
		return "application/json"
	default:
		return "text/plain"
	}
}

// isJSON reports whether text is one JSON object, array or string. A bare number or
// word is more likely meant as text.
func isJSON(text string) bool {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	if trimmed == "" || !strings.Contains(`{["`, trimmed[:1]) {
		return false
	}
	decoder := jsontext.NewDecoder(strings.NewReader(text))
	if err := decoder.SkipValue(); err != nil {
		return false
	}
	_, err := decoder.ReadToken()
	return errors.Is(err, io.EOF)
}
