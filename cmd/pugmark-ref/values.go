package main

import (
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// What flags are given is looked at when they are read: before a store is made, a
// body is waited for or a handler runs. Each function of this file makes what a
// flag does with a value.

// sessionValue takes the ID of a session that there is.
func sessionValue(session *string) func(string) error {
	return func(text string) error {
		*session = text
		return checkSession(text)
	}
}

func checkSession(id string) error {
	if err := storage.CheckSession(id); err != nil {
		return hint(err, "give one that `pugmark-ref start` printed, or none for the session that was started last")
	}
	return nil
}

// newSessionValue takes the ID of a session to be made.
func newSessionValue(session *string) func(string) error {
	return func(text string) error {
		*session = text
		if err := storage.CheckSession(text); err != nil {
			return hint(err, "leave --session out for a random one")
		}
		return nil
	}
}

// typeValue takes a MIME type, or nothing for none.
func typeValue(contentType *string) func(string) error {
	return func(text string) error {
		*contentType = text
		if protocol.IsControl(text) {
			return hint(errors.New("only the runtime writes control messages"), "give another --content-type")
		}
		if kind, _, err := mime.ParseMediaType(text); text != "" && (err != nil || !strings.Contains(kind, "/")) {
			return hint(fmt.Errorf("--content-type %.80q is no MIME type", text), "write it as in text/plain or application/json")
		}
		return nil
	}
}

// encodingValue takes a content encoding that handlers know (reading R56).
func encodingValue(encoding *string) func(string) error {
	return func(text string) error {
		*encoding = text
		if text == "" || slices.Contains([]string{protocol.CodingGzip, protocol.CodingZstd}, text) {
			return nil
		}
		return hint(fmt.Errorf("--content-encoding %.80q is not known to handlers", text), "encode the body with gzip or zstd, or not at all")
	}
}

// urlValue takes a URL to be passed on.
func urlValue(flag string, place *string) func(string) error {
	return func(text string) error {
		*place = text
		if _, err := url.Parse(text); err != nil || text != strings.TrimSpace(text) {
			return hint(fmt.Errorf("--%s %.80q is no URL", flag, text), "write it as in https://example.org/schema")
		}
		return nil
	}
}

// serviceValue takes the URL of a handler's service.
func serviceValue(service *string) func(string) error {
	return func(text string) error {
		*service = text
		return checkService("--url", text)
	}
}

// checkService looks at the URL of a handler's service.
func checkService(flag, text string) error {
	parsed, err := url.Parse(text)
	wrong := err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == ""
	if !wrong && parsed.Port() != "" {
		port, err := strconv.ParseUint(parsed.Port(), 10, 16)
		wrong = err != nil || port == 0
	}
	if wrong {
		return hint(fmt.Errorf("%s %.200q is no http or https URL", flag, text), "write it as in http://127.0.0.1:8000/")
	}
	return nil
}

// namedHandler is one value of --handler: a service's URL or a command.
type namedHandler struct {
	url   string
	words []string
}

// namedHandlers are all values of --handler.
type namedHandlers struct {
	byName map[string]namedHandler
	// first is the name that was given first.
	first string
}

// handlerValue takes name='command' and name=URL.
func handlerValue(handlers *namedHandlers) func(string) error {
	return func(text string) error {
		name, command, found := strings.Cut(text, "=")
		if !found || name == "" {
			return hint(fmt.Errorf("--handler %.80q has no name or no command", text), "write it as in --handler python='python agent.py'")
		}
		flag := fmt.Sprintf("--handler %s", fact(name))
		if _, again := handlers.byName[name]; again {
			return hint(fmt.Errorf("%s is given twice", flag), "give each name one command")
		}
		handler, err := parseHandler(flag, command)
		if err != nil {
			return err
		}
		if handlers.byName == nil {
			handlers.byName, handlers.first = make(map[string]namedHandler), name
		}
		handlers.byName[name] = handler
		return nil
	}
}

func parseHandler(flag, command string) (namedHandler, error) {
	words, err := splitWords(command)
	if err != nil {
		return namedHandler{}, hint(fmt.Errorf("%s: %w", flag, err), "write it as in --handler python='python agent.py'")
	}
	if !strings.Contains(words[0], "://") {
		return namedHandler{words: words}, nil
	}
	return namedHandler{url: command}, checkService(flag, command)
}

// foldersValue takes a folder, by its name or as a file:// URL.
func foldersValue(folders *[]string) func(string) error {
	return func(text string) error {
		refuse := func(why string) error {
			return hint(fmt.Errorf("--allow-uri %.200q %s", text, why), "name a folder that holds files which outputs may refer to")
		}
		folder := text
		if strings.Contains(text, "://") {
			parsed, err := url.Parse(text)
			if err != nil || parsed.Scheme != "file" || parsed.Host != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
				return refuse("is no folder of this machine: bodies by uri come from the store itself and from files only")
			}
			folder = parsed.Path
		}
		if folder == "" {
			return refuse("is empty")
		}
		full, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		info, err := os.Stat(full)
		switch {
		case err != nil:
			var cause *os.PathError
			if errors.As(err, &cause) {
				err = cause.Err
			}
			return refuse("can't be used: " + err.Error())
		case !info.IsDir():
			return refuse("is no folder")
		}
		*folders = append(*folders, full)
		return nil
	}
}

// metadataValue takes key=value, or a JSON object of strings, and adds it to what
// was given before.
func metadataValue(metadata *map[string]string) func(string) error {
	return func(text string) error {
		one, err := parseMetadata(text)
		if err != nil {
			return hint(err, "write it as in --metadata key=value or --metadata '{\"key\":\"value\"}'")
		}
		if *metadata == nil && len(one) > 0 {
			*metadata = make(map[string]string)
		}
		maps.Copy(*metadata, one)
		return nil
	}
}

func parseMetadata(text string) (map[string]string, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		key, value, found := strings.Cut(text, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("--metadata %.80q is neither key=value nor a JSON object", text)
		}
		return map[string]string{key: value}, nil
	}
	var object map[string]*string
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, fmt.Errorf("--metadata %.80q is no JSON object of strings: %w", text, err)
	}
	metadata := make(map[string]string, len(object))
	for key, value := range object {
		if value == nil {
			return nil, fmt.Errorf("--metadata %.80q is no JSON object of strings: %q is null", text, key)
		}
		metadata[key] = *value
	}
	return metadata, nil
}
