package reference

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Handlers chooses the transport by the manifest's handler field (section 15).
type Handlers interface {
	// Transport returns the transport of the handler with a name; the empty name
	// is the default one.
	Transport(name string) (Transport, error)
}

// Registry is a fixed set of handlers.
type Registry struct {
	// Default serves sessions without a handler field (P15/default).
	Default Transport
	// Named serves those that name one (P15/named).
	Named map[string]Transport
}

// Transport implements [Handlers]. A name that is not registered is an error, also
// when there is a default (reading R51).
func (g Registry) Transport(name string) (Transport, error) {
	if name == "" {
		if g.Default == nil {
			return nil, fmt.Errorf("the session names no handler and there is no default one (registered: %s)", g.names())
		}
		return g.Default, nil
	}
	transport, found := g.Named[name]
	if !found {
		return nil, fmt.Errorf("the session names the handler %q, which is not registered (registered: %s)", name, g.names())
	}
	return transport, nil
}

func (g Registry) names() string {
	if len(g.Named) == 0 {
		return "none"
	}
	names := slices.Sorted(maps.Keys(g.Named))
	for i, name := range names {
		names[i] = strconv.Quote(name)
	}
	return strings.Join(names, ", ")
}
