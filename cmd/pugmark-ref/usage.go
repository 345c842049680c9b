package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// checkUsage has root and the commands below it say what to do about a flag, an
// argument or a verb that there is not, also where help is asked for with one.
func (a *app) checkUsage(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	show := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		if rest := command.Flags().Args(); command.HasSubCommands() && len(rest) > 0 {
			a.refusal = unknownVerb(command, rest[0])
			return
		}
		show(command, args)
	})
	root.InitDefaultHelpCmd()
	for _, command := range root.Commands() {
		if command.Name() == "help" {
			command.Run, command.RunE = nil, func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && found.HasSubCommands() && len(rest) > 0 {
					err = unknownVerb(found, rest[0])
				}
				if err != nil {
					return err
				}
				found.InitDefaultHelpFlag()
				return found.Help()
			}
		}
	}
}

// flagError says what to do about a flag.
func flagError(command *cobra.Command, err error) error {
	var own *hinted
	var number *strconv.NumError
	switch {
	case errors.As(err, &own):
		return own // the library only says again which flag and value it is
	case errors.As(err, &number):
		what, _, _ := strings.Cut(err.Error(), ": ")
		return hint(errors.New(what), "give true or false")
	default:
		return hint(err, "see `%s --help`", command.CommandPath())
	}
}

// onlyVerbs refuses arguments of a command that has nothing but verbs.
func onlyVerbs(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownVerb(command, args[0])
}

func unknownVerb(command *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %.80q for %q", name, command.CommandPath())
	switch name {
	case "fork":
		return hint(err, `handlers make forks, by an output with "fork":true, and the session's next run makes the child; log -A shows the record`)
	case "pause", "sleep":
		return hint(err, "handlers pause their session, by an output of the type application/vnd.pugmark.pause+text, and push wakes it")
	}
	command.SuggestionsMinimumDistance = 2
	if similar := command.SuggestionsFor(name); len(similar) > 0 {
		return hint(err, "did you mean %s?", strings.Join(similar, " or "))
	}
	return hint(err, "`%s --help` lists the commands", command.CommandPath())
}

// arguments takes from least to most arguments, which are said to be, in words,
// what.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return hint(fmt.Errorf("%s needs an argument", verb(command)), "it takes %s", what)
		case len(args) > most:
			return hint(fmt.Errorf("%s can't take the argument %.80q", verb(command), args[most]), "it takes %s", what)
		}
		return nil
	}
}

// What verbs without arguments take.
const (
	nothing    = "flags only"
	noArgument = "flags only, of which --session names a session other than the current"
)

// verb is a command's name without the program's.
func verb(command *cobra.Command) string {
	return strings.TrimPrefix(command.CommandPath(), command.Root().Name()+" ")
}
