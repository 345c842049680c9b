package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/storage"
)

func (a *app) memoryCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "memory",
		Short: "List, read and write memory, which all sessions share",
		Long: `List, read and write memory: versioned objects that live outside any session.

A key is NAMESPACE/NAME. The namespace may have slashes and the name has none, so
a key is split at its last slash, and team/ops/k is never looked up in team. A
namespace exists from the first write to it. Handlers read a key by GET below the
URL that they are told, and write it by an output of the name memories/KEY.`,
		Example: `  pugmark-ref memory put team/ops/motd <<<'be kind'
  pugmark-ref memory get team/ops/motd
  pugmark-ref memory list team`,
		Args: onlyVerbs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(a.memoryListCommand(), a.memoryGetCommand(), a.memoryPutCommand())
	return command
}

func (a *app) memoryListCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [NAMESPACE]",
		Short: "List the keys of memory, of one namespace and those below it if it is named",
		Args:  arguments(0, 1, "one namespace"),
		RunE: func(command *cobra.Command, args []string) error {
			return a.with(command.Context(), func(runtime *reference.Runtime, _ *openStore) error {
				for object, err := range runtime.Memory(command.Context()) {
					if err != nil {
						return err
					}
					if len(args) == 1 && !strings.HasPrefix(object.Namespace+"/", strings.TrimSuffix(args[0], "/")+"/") {
						continue
					}
					if err := a.printMemory(object, asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return command
}

func (a *app) printMemory(object reference.MemoryObject, asJSON bool) error {
	if asJSON {
		return a.printJSON(object, "")
	}
	facts := []string{fact(object.Key())}
	if object.ContentType != "" {
		facts = append(facts, typeFact(object.ContentType))
	}
	if object.ContentEncoding != "" {
		facts = append(facts, "encoding "+fact(object.ContentEncoding))
	}
	facts = append(facts, fmt.Sprintf("%d bytes", object.Size))
	_, err := fmt.Fprintln(a.out, strings.Join(facts, "  "))
	return err
}

func (a *app) memoryGetCommand() *cobra.Command {
	var raw bool
	command := &cobra.Command{
		Use:   "get KEY",
		Short: "Write the object at a key to standard output, decoded",
		Args:  arguments(1, 1, "one key, NAMESPACE/NAME"),
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkKey(args[0]); err != nil {
				return err
			}
			return a.with(command.Context(), func(runtime *reference.Runtime, _ *openStore) error {
				return a.getMemory(command.Context(), runtime, args[0], raw)
			})
		},
	}
	command.Flags().BoolVar(&raw, "raw", false, "as stored, with its content encoding")
	return command
}

func (a *app) getMemory(ctx context.Context, runtime *reference.Runtime, key string, raw bool) error {
	object, err := runtime.MemoryObject(ctx, key)
	if errors.Is(err, storage.ErrNotExist) {
		return hint(err, "`pugmark-ref memory list` shows the keys")
	}
	if err != nil {
		return err
	}
	stored, err := runtime.Body(ctx, object.DumpEntry)
	if err != nil {
		return err
	}
	defer stored.Close()
	body := stored
	if !raw {
		if body, err = protocol.Decompress(object.ContentEncoding, stored); err != nil {
			return hint(fmt.Errorf("%s: %w", key, err), "--raw writes it as it is stored")
		}
		defer body.Close()
	}
	if _, err = io.Copy(a.out, body); err != nil && !raw {
		err = hint(fmt.Errorf("%s: %w", key, err), "--raw writes it as it is stored")
	}
	return err
}

// checkKey looks at a key before a body is waited for.
func checkKey(key string) error {
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 {
		return hint(fmt.Errorf("memory key %.80q has no slash", key), "write it as NAMESPACE/NAME")
	}
	if err := storage.CheckMemoryName(key[:slash], key[slash+1:]); err != nil {
		return hint(fmt.Errorf("memory key %.80q: %w", key, err), "write it as NAMESPACE/NAME, without empty parts, . and ..")
	}
	return nil
}

func (a *app) memoryPutCommand() *cobra.Command {
	var object reference.Object
	command := &cobra.Command{
		Use:   "put KEY [FILE]",
		Short: "Write an object to a key, from standard input or a file",
		Long: `Write an object to a key, from standard input or a file.

It replaces the object that was there for all later readers. The content type is
found as push finds it.`,
		Args: arguments(1, 2, "one key, NAMESPACE/NAME, and one file"),
		RunE: func(command *cobra.Command, args []string) error {
			if err := checkKey(args[0]); err != nil {
				return err
			}
			return a.with(command.Context(), func(runtime *reference.Runtime, _ *openStore) error {
				free, err := a.readObject(command, &object, args[1:])
				if err != nil {
					return err
				}
				defer free()
				return runtime.WriteMemory(command.Context(), args[0], object)
			})
		},
	}
	objectFlags(command, &object)
	return command
}
