package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) pushCommand() *cobra.Command {
	var session string
	var object reference.Object
	var metadata []string
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
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			free, err := a.readObject(command, &object, metadata, args)
			if err != nil {
				return err
			}
			defer free()
			return a.with(command.Context(), func(runtime *reference.Runtime, store *openStore) error {
				id, err := store.session(session)
				if err != nil {
					return err
				}
				_, err = runtime.Push(command.Context(), id, object)
				return err
			})
		},
	}
	sessionFlag(command, &session)
	command.Flags().StringVar(&object.Name, "name", "", "name of the entry")
	objectFlags(command, &object, &metadata)
	return command
}

// objectFlags adds the flags that say what an object is.
func objectFlags(command *cobra.Command, object *reference.Object, metadata *[]string) {
	flags := command.Flags()
	flags.StringVar(&object.ContentType, "content-type", "", "MIME type of the decoded body")
	flags.StringVar(&object.ContentEncoding, "content-encoding", "", "encoding that the body is in already: gzip or zstd")
	flags.StringVar(&object.SchemaURL, "schema-url", "", "URL of the body's schema")
	metadataFlag(command, metadata)
}

// readObject reads an object's body from the file that the arguments name, or
// standard input, and fills in what the flags left open. Call free when the object
// is no longer needed.
func (a *app) readObject(command *cobra.Command, object *reference.Object, metadata, files []string) (free func(), err error) {
	if object.Metadata, err = parseMetadata(metadata); err != nil {
		return nil, err
	}
	spool := new(storage.Spool)
	free = func() { _ = spool.Close() }
	if err := a.spoolInput(spool, files); err != nil {
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

func (a *app) spoolInput(spool *storage.Spool, files []string) error {
	input := a.in
	if len(files) > 0 && files[0] != "-" {
		file, err := os.Open(files[0])
		if err != nil {
			return err
		}
		defer file.Close()
		input = file
	}
	if _, err := io.Copy(spool, input); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	return nil
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
