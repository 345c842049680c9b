package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) startCommand() *cobra.Command {
	var manifest storage.Manifest
	command := &cobra.Command{
		Use:   "start",
		Short: "Start a session, make it the current one, and print its ID",
		Long: `Start a session, make it the current one, and print its ID.

A session that exists already is left as it is and becomes the current one.`,
		Args: arguments(0, 0, nothing),
		RunE: func(command *cobra.Command, _ []string) error {
			return a.withStore(command.Context(), true, func(runtime *reference.Runtime, store *openStore) error {
				started, err := runtime.StartSession(command.Context(), manifest)
				if err != nil {
					return err
				}
				a.sayKept(manifest, started)
				if err := store.setCurrent(started.Session); err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.out, started.Session)
				return err
			})
		},
	}
	flags := command.Flags()
	flags.Func("session", "session `ID`, 32 hex digits (default: a random one)", newSessionValue(&manifest.Session))
	flags.StringVar(&manifest.Agent, "agent", "", "agent identity")
	flags.StringVar(&manifest.Handler, "handler", "", "name of the handler that the session runs with")
	metadataFlag(command, &manifest.Metadata)
	return command
}

func metadataFlag(command *cobra.Command, metadata *map[string]string) {
	command.Flags().Func("metadata", "metadata, `key=value` or a JSON object of strings; may be given again", metadataValue(metadata))
}

// sayKept says that flags are without effect: a session keeps what it was made with.
func (a *app) sayKept(asked, kept storage.Manifest) {
	var flags []string
	for flag, differs := range map[string]bool{
		"--agent":    asked.Agent != "" && asked.Agent != kept.Agent,
		"--handler":  asked.Handler != "" && asked.Handler != kept.Handler,
		"--metadata": asked.Metadata != nil && !maps.Equal(asked.Metadata, kept.Metadata),
	} {
		if differs {
			flags = append(flags, flag)
		}
	}
	if len(flags) > 0 {
		slices.Sort(flags)
		a.say(fmt.Sprintf("session %s exists already and keeps what it was made with in spite of %s; inspect shows it",
			kept.Session, strings.Join(flags, " and ")))
	}
}
