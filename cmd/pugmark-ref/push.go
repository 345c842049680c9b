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

Without --content-type, a JSON object, array or string is application/json,
other UTF-8 text is text/plain, and anything else is application/octet-stream;
with --content-type= the entry has none.
The bytes are taken as they are.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			var err error
			if object.Metadata, err = parseMetadata(metadata); err != nil {
				return err
			}
			body, closeBody, err := a.input(args)
			if err != nil {
				return err
			}
			defer closeBody()
			return a.with(func(runtime *reference.Runtime, store *openStore) error {
				id, err := store.session(session)
				if err != nil {
					return err
				}
				return push(command, runtime, id, object, body)
			})
		},
	}
	flags := command.Flags()
	sessionFlag(command, &session)
	flags.StringVar(&object.Name, "name", "", "name of the entry")
	flags.StringVar(&object.ContentType, "content-type", "", "MIME type of the decoded body")
	flags.StringVar(&object.ContentEncoding, "content-encoding", "", "encoding that the body is in already: gzip or zstd")
	flags.StringVar(&object.SchemaURL, "schema-url", "", "URL of the body's schema")
	metadataFlag(command, &metadata)
	return command
}

// input opens the file that the arguments name, or standard input.
func (a *app) input(args []string) (io.Reader, func(), error) {
	if len(args) == 0 || args[0] == "-" {
		return a.in, func() {}, nil
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil
}

func push(command *cobra.Command, runtime *reference.Runtime, session string, object reference.Object, body io.Reader) error {
	var spool storage.Spool
	defer spool.Close()
	if _, err := io.Copy(&spool, body); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	// The type of an encoded body is that of what is in it, so nothing is guessed.
	if !command.Flags().Changed("content-type") && object.ContentEncoding == "" {
		object.ContentType = detectType(&spool)
	}
	object.Body = spool.Reader()
	_, err := runtime.Push(command.Context(), session, object)
	return err
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
