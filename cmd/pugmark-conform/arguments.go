package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// takes wants from least to most arguments, which are said to be, in words, what; a
// negative most is any number.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s wants %s: %s", verbOf(c), what, c.UseLine())
		case most >= 0 && len(args) > most:
			return fmt.Errorf("%s takes %s and no more, and %q is one too many: %s", verbOf(c), what, args[most], c.UseLine())
		}
		return nil
	}
}

// takesFlags wants no argument. A subject is named by a flag.
func takesFlags(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case c.Flags().Lookup("subject") != nil:
		return fmt.Errorf("%s takes the subject by a flag: %s --subject %s", verbOf(c), c.CommandPath(), shellQuoted(args[0]))
	}
	return fmt.Errorf("%s takes flags only, and %q is none; see `%s --help`", verbOf(c), args[0], c.CommandPath())
}

// verbOf is a verb's name without the program's.
func verbOf(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

// checkHelp has help about a verb that there is not be an error.
func checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 && found.HasSubCommands() {
				err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
			}
			if err != nil {
				return err
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		}
	}
}
