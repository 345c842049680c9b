package main

import (
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) startCommand() *cobra.Command {
	var manifest storage.Manifest
	var metadata []string
	command := &cobra.Command{
		Use:   "start",
		Short: "Start a session, make it the current one, and print its ID",
		Long: `Start a session, make it the current one, and print its ID.

A session that exists already is left as it is and becomes the current one.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			var err error
			if manifest.Metadata, err = parseMetadata(metadata); err != nil {
				return err
			}
			return a.withStore(command.Context(), true, func(runtime *reference.Runtime, store *openStore) error {
				started, err := runtime.StartSession(command.Context(), manifest)
				if err != nil {
					return err
				}
				if err := store.setCurrent(started.Session); err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.out, started.Session)
				return err
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&manifest.Session, "session", "", "session ID, 32 hex digits (default: a random one)")
	flags.StringVar(&manifest.Agent, "agent", "", "agent identity")
	flags.StringVar(&manifest.Handler, "handler", "", "name of the handler that the session runs with")
	metadataFlag(command, &metadata)
	return command
}

func metadataFlag(command *cobra.Command, metadata *[]string) {
	command.Flags().StringArrayVar(metadata, "metadata", nil, "metadata: key=value, or a JSON object of strings; may be given again")
}

// parseMetadata merges the values of a metadata flag.
func parseMetadata(values []string) (map[string]string, error) {
	var merged map[string]string
	for _, value := range values {
		one := make(map[string]string)
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			if err := json.Unmarshal([]byte(value), &one); err != nil {
				return nil, fmt.Errorf("--metadata %.80q is no JSON object of strings: %w", value, err)
			}
		} else {
			key, text, found := strings.Cut(value, "=")
			if !found || key == "" {
				return nil, fmt.Errorf("--metadata %.80q is neither key=value nor a JSON object", value)
			}
			one[key] = text
		}
		if merged == nil {
			merged = make(map[string]string)
		}
		maps.Copy(merged, one)
	}
	if len(merged) == 0 {
		return nil, nil
	}
	return merged, nil
}
