package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) logCommand() *cobra.Command {
	var session string
	var all, asJSON bool
	command := &cobra.Command{
		Use:   "log",
		Short: "Show a session's log, its ancestors' entries first",
		Long: `Show a session's log, its ancestors' entries first, as far as handlers are fed it.

Each entry is a line of facts, which begins with the version that added it and its
sequence number, and below it, indented, the beginning of its body, decoded. What
would change the terminal is escaped, and a name, type or reason that could be taken
for other facts stands in quotes.`,
		Example: `  pugmark-ref log -A
  pugmark-ref log --json | jq -r '.body | @base64d'`,
		Args: arguments(0, 0, noArgument),
		RunE: func(command *cobra.Command, _ []string) error {
			return a.with(command.Context(), func(runtime *reference.Runtime, store *openStore) error {
				id, err := store.session(session)
				if err != nil {
					return err
				}
				print := a.printEntry
				if asJSON {
					print = a.printEntryJSON
				}
				for entry, err := range runtime.Log(command.Context(), id) {
					if err != nil {
						return err
					}
					if !all && !entry.Replayed() {
						continue
					}
					if err := print(command.Context(), runtime, entry); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	sessionFlag(command, &session)
	command.Flags().BoolVarP(&all, "all", "A", false, "also control messages and the records of forks and writes, which no handler is fed")
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, with the body in base64")
	return command
}

// jsonEntry is an entry with its body.
type jsonEntry struct {
	reference.LogEntry
	Body []byte `json:"body"`
}

func (a *app) printEntryJSON(ctx context.Context, runtime *reference.Runtime, entry reference.LogEntry) error {
	body, err := openBody(ctx, runtime, entry)
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return a.printJSON(jsonEntry{entry, data}, "")
}

// printEntry prints an entry for people: a line of facts, and the body below it.
func (a *app) printEntry(ctx context.Context, runtime *reference.Runtime, entry reference.LogEntry) error {
	facts := []string{fmt.Sprintf("%d.%d", entry.Version, entry.Sequence), fact(string(entry.Type))}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, name+fact(value))
		}
	}
	add("name ", entry.Name)
	switch {
	case entry.Control != nil:
		add("", entry.Control.Status)
		if !entry.Control.StartAt.IsZero() {
			add("until ", entry.Control.StartAt.Format(time.RFC3339Nano))
		}
		add("reason ", entry.Control.Reason)
	case entry.Fork:
		add("fork of ", entry.TargetSession)
	default:
		add("to ", entry.TargetSession)
	}
	add("from ", entry.SourceSession)
	if entry.Control == nil {
		if entry.ContentType != "" {
			facts = append(facts, typeFact(entry.ContentType))
		}
		add("encoding ", entry.ContentEncoding)
		facts = append(facts, fmt.Sprintf("%d bytes", entry.Size))
	}
	if _, err := fmt.Fprintln(a.out, strings.Join(facts, "  ")); err != nil || entry.Control != nil {
		return err
	}
	text, err := shown(ctx, runtime, entry)
	if err != nil || text == "" {
		return err
	}
	_, err = io.WriteString(a.out, bodyText(text))
	return err
}

// shownLimit is how many bytes of a body the log shows.
const shownLimit = 2 << 10

// shown is the decoded body as far as a terminal can show it.
func shown(ctx context.Context, runtime *reference.Runtime, entry reference.LogEntry) (string, error) {
	body, err := openBody(ctx, runtime, entry)
	if err != nil {
		return "", err
	}
	defer body.Close()
	plain, err := protocol.Decompress(entry.ContentEncoding, body)
	if err != nil {
		return fmt.Sprintf("(it can't be decoded: %v)", err), nil
	}
	defer plain.Close()
	data, err := io.ReadAll(io.LimitReader(plain, shownLimit+1))
	if err != nil {
		return fmt.Sprintf("(it can't be decoded: %v)", err), nil
	}
	more := ""
	if len(data) > shownLimit {
		data, more = data[:shownLimit], " ..."
		for len(data) > 0 && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
		if r, _ := utf8.DecodeLastRune(data); r == utf8.RuneError {
			data = data[:max(len(data)-1, 0)]
		}
	}
	if !utf8.Valid(data) {
		return "(binary)", nil
	}
	return strings.TrimRight(string(data), "\n") + more, nil
}

// openBody opens the body of an entry, which must be there.
func openBody(ctx context.Context, runtime *reference.Runtime, entry reference.LogEntry) (io.ReadCloser, error) {
	body, err := runtime.Body(ctx, entry.DumpEntry)
	if errors.Is(err, storage.ErrNotExist) {
		err = fmt.Errorf("the store %w: version %d of session %s: %w", storage.ErrDamaged, entry.Version, entry.Session, err)
	}
	return body, err
}
