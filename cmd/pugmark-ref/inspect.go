package main

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/reference"
)

func (a *app) inspectCommand() *cobra.Command {
	var session string
	command := &cobra.Command{
		Use:   "inspect [SESSION]",
		Short: "Print the session dump: manifest, versions and descriptors, as JSON",
		Long: `Print the session dump: manifest, versions and descriptors, as JSON.

It shows what the session's own versions added, control messages and the records of
forks and of writes to other sessions included, and no bodies. A child's ancestors
are named and not shown.`,
		Args: arguments(0, 1, "one session"),
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 1 {
				if session != "" && session != args[0] {
					return hint(errors.New("two sessions are given"), "inspect them one after the other")
				}
				session = args[0]
				if err := checkSession(session); err != nil {
					return err
				}
			}
			return a.with(command.Context(), func(runtime *reference.Runtime, store *openStore) error {
				id, err := store.session(session)
				if err != nil {
					return err
				}
				dump, err := runtime.Inspect(command.Context(), id)
				if err != nil {
					return err
				}
				return a.printJSON(dump, "  ")
			})
		},
	}
	sessionFlag(command, &session)
	return command
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the protocol",
		Args:  arguments(0, 0, nothing),
		RunE: func(*cobra.Command, []string) error {
			version := "unknown"
			if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
				version = info.Main.Version
			}
			_, err := fmt.Fprintf(a.out, "pugmark-ref %s, protocol 1\n", version)
			return err
		},
	}
}
