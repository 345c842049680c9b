package protocol

import (
	"fmt"
	"strings"
)

// envPrefix begins the names of all variables of the protocol; section 17 keeps
// the set of them open.
const envPrefix = "PUGMARK_"

// EnvironLimit is the longest variable that Linux hands to a program, in bytes:
// name, equals sign, value and the NUL after it.
const EnvironLimit = 128 << 10

// HeaderLimit is the longest header line that a handler's server must be expected
// to take, in bytes with the line's end: what Python's, which section 2.2 names,
// reads.
const HeaderLimit = 64 << 10

// LimitError says that something is too long for where it must go (reading R20).
type LimitError struct {
	// What is the thing, by its name on the wire.
	What string
	// Limit is the name of the limit.
	Limit string
	// Size is how long it is, and Max how long it may be, in bytes.
	Size, Max int
}

// Error names the thing, the limit and both lengths.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s takes %d bytes, over the limit of %d for %s", e.What, e.Size, e.Max, e.Limit)
}

// Environ returns the variables that the subprocess transport adds to a child's
// environment (section 13): agent, session, and the metadata if there is any, as a
// JSON object in ASCII with sorted names. Stale ones must be taken out first, as
// [CleanEnviron] does. The variable of RPC mode is not among them.
//
// A NUL can't be handed over and is refused; so is text that is not UTF-8
// ([ErrInvalidUTF8]) and a variable over [EnvironLimit] ([*LimitError]).
func (id Identity) Environ() ([]string, error) {
	variables := [][2]string{{EnvAgent, id.Agent}, {EnvSession, id.Session}}
	if len(id.Metadata) > 0 {
		metadata, err := appendMetadata(nil, id.Metadata)
		if err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", EnvMetadata, err)
		}
		variables = append(variables, [2]string{EnvMetadata, string(metadata)})
	}
	var env []string
	for _, variable := range variables {
		name, value := variable[0], variable[1]
		if err := checkText(value); err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		if at := strings.IndexByte(value, 0); at >= 0 {
			return nil, fmt.Errorf("environment variable %s: NUL at byte %d of its value", name, at)
		}
		setting := name + "=" + value
		if size := len(setting) + 1; size > EnvironLimit {
			return nil, &LimitError{What: "environment variable " + name,
				Limit: "one environment variable on Linux", Size: size, Max: EnvironLimit}
		}
		env = append(env, setting)
	}
	return env, nil
}

// CleanEnviron returns env without the variables of the protocol and of the trace
// context, so that a child sees only what its own invocation sets. What it keeps
// is in order, and env is left as it is.
func CleanEnviron(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, setting := range env {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, envPrefix) || name == EnvTraceParent || name == EnvTraceState {
			continue
		}
		kept = append(kept, setting)
	}
	return kept
}

// IdentityFromEnviron reads what a handler is told on the subprocess transport,
// with a function such as os.Getenv. The snapshot does not travel there and is 0.
// The session must be a session ID, and the metadata, unless absent or empty, a
// JSON object of strings.
func IdentityFromEnviron(getenv func(string) string) (Identity, error) {
	id := Identity{Agent: getenv(EnvAgent), Session: getenv(EnvSession)}
	if err := checkSession(id.Session); err != nil {
		return Identity{}, fmt.Errorf("environment variable %s: %w", EnvSession, err)
	}
	if err := checkText(id.Agent); err != nil {
		return Identity{}, fmt.Errorf("environment variable %s: %w", EnvAgent, err)
	}
	if text := getenv(EnvMetadata); text != "" {
		var err error
		if id.Metadata, err = parseMetadata([]byte(text)); err != nil {
			return Identity{}, fmt.Errorf("environment variable %s: %w", EnvMetadata, err)
		}
	}
	return id, nil
}
