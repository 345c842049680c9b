package mutants

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
)

// runtimeIdentities tell a handler otherwise who it is, in which trace it works and
// where it is to be reached (sections 13 to 15).
func runtimeIdentities() []Mutant {
	return slices.Concat(runtimeVariables(), runtimeTraces(), runtimeNames())
}

func runtimeVariables() []Mutant {
	saying := func(id, requirement, sentence string, change func(*protocol.Identity)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					change(&invocation.Identity)
					return t.Invoke(ctx, invocation)
				})
			}),
		}
	}
	in := func(m Mutant, transports ...string) Mutant {
		m.Transports = transports
		return m
	}
	return []Mutant{
		in(saying("leaves-the-agent-out", "P13/identity-variables",
			"The environment does not say which agent the handler is.",
			func(who *protocol.Identity) { who.Agent = "" }), protocol.TransportSubprocess),
		in(saying("leaves-the-metadata-out", "P13/identity-variables",
			"The environment does not have the session's metadata.",
			func(who *protocol.Identity) { who.Metadata = nil }), protocol.TransportSubprocess),
		in(saying("calls-agents-by-their-session", "P13/identity-variables",
			"A handler of a session without an agent gets the session ID for one.",
			func(who *protocol.Identity) {
				if who.Agent == "" {
					who.Agent = who.Session
				}
			}), protocol.TransportSubprocess),
		{
			ID: "runtime/passes-its-own-variables-on", Requirement: "P13/identity-variables",
			Sentence:   "What the runtime finds in its environment and does not set itself reaches the handler.",
			Transports: []string{protocol.TransportSubprocess},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				return invoking(func(ctx context.Context, invocation reference.Invocation) error {
					if s, ok := t.(reference.Subprocess); ok {
						s.Command = slices.Concat([]string{"env"}, inherited(s.Environ, invocation.Identity), s.Command)
						return s.Invoke(ctx, invocation)
					}
					return t.Invoke(ctx, invocation)
				})
			}),
		},
		{
			ID: "runtime/names-the-descriptor-alone", Requirement: "P13/rpc-url",
			Sentence:   "A handler in RPC mode is told the number of a descriptor, without the scheme.",
			Transports: []string{protocol.TransportRPC},
			Runtime: transported(func(t reference.Transport) reference.Transport {
				if p, ok := t.(*reference.RPC); ok {
					p.Command = append([]string{"env", protocol.EnvRPCURL + "=3"}, p.Command...)
				}
				return t
			}),
		},
		saying("writes-session-ids-in-upper-case", "S2/session-id",
			"Session IDs are written in upper case.",
			func(who *protocol.Identity) { who.Session = strings.ToUpper(who.Session) }),
		saying("trims-zeros-from-session-ids", "S2/session-id",
			"A session ID is written as a number, without the zeros that it begins with.",
			func(who *protocol.Identity) { who.Session = strings.TrimLeft(who.Session, "0") }),
	}
}

// inherited is the settings of the protocol that an environment has and an identity
// does not set.
func inherited(environ []string, who protocol.Identity) (list []string) {
	own, err := who.Environ()
	if err != nil {
		return nil
	}
	for _, setting := range environ {
		name, _, _ := strings.Cut(setting, "=")
		sets := func(s string) bool { return strings.HasPrefix(s, name+"=") }
		if strings.HasPrefix(name, "PUGMARK_") && !slices.ContainsFunc(own, sets) {
			list = append(list, setting)
		}
	}
	return list
}

func runtimeTraces() []Mutant {
	tracing := func(id, requirement, sentence string, change func(run running, incoming protocol.TraceContext, trace *protocol.TraceContext)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: begun(func(run running, options *reference.RunOptions) {
				incoming, among := options.Trace, options.Handlers
				options.Handlers = choosing(func(name string) (reference.Transport, error) {
					t, err := among.Transport(name)
					return invoking(func(ctx context.Context, invocation reference.Invocation) error {
						change(run, incoming, &invocation.Trace)
						return t.Invoke(ctx, invocation)
					}), err
				})
			}),
		}
	}
	// as is a trace parent with another trace ID.
	as := func(trace *protocol.TraceContext, id string) {
		if parts := strings.Split(trace.TraceParent, "-"); len(parts) == 4 {
			parts[1] = id
			trace.TraceParent = strings.Join(parts, "-")
		}
	}
	return []Mutant{
		tracing("gives-no-trace", "P14/traceparent",
			"A handler gets no trace context.",
			func(_ running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				*trace = protocol.TraceContext{}
			}),
		tracing("leaves-the-trace-flags-out", "P14/traceparent",
			"A trace parent ends with the span.",
			func(_ running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				trace.TraceParent = strings.TrimSuffix(trace.TraceParent, "-01")
			}),
		tracing("passes-broken-trace-parents-on", "P14/traceparent",
			"A trace parent that came in and is not valid is passed on as it is.",
			func(_ running, incoming protocol.TraceContext, trace *protocol.TraceContext) {
				if _, err := protocol.ParseTraceParent(incoming.TraceParent); incoming.TraceParent != "" && err != nil {
					trace.TraceParent = incoming.TraceParent
				}
			}),
		tracing("continues-the-incoming-trace", "P14.1/session-trace-id",
			"Where a trace context came in, its trace goes on.",
			func(_ running, incoming protocol.TraceContext, trace *protocol.TraceContext) {
				if _, err := protocol.ParseTraceParent(incoming.TraceParent); err == nil {
					as(trace, strings.Split(incoming.TraceParent, "-")[1])
				}
			}),
		tracing("draws-trace-ids", "P14.1/session-trace-id",
			"Every invocation has a trace of its own.",
			func(_ running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				as(trace, digestID(trace.TraceParent))
			}),
		tracing("traces-children-with-their-parent", "P14.1/session-trace-id",
			"A child's invocations are in its parent's trace.",
			func(run running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				if m, err := run.Store.Manifest(context.Background(), run.session); err == nil && m.Parent != nil {
					as(trace, m.Parent.Session)
				}
			}),
		tracing("makes-a-trace-state", "P14/tracestate",
			"A trace state is made where none came in.",
			func(_ running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				if trace.TraceState == "" {
					trace.TraceState = "pugmark=1"
				}
			}),
		tracing("passes-any-trace-state-on", "P14/tracestate",
			"A trace state is passed on whether its trace parent is valid or not.",
			func(_ running, incoming protocol.TraceContext, trace *protocol.TraceContext) {
				trace.TraceState = incoming.TraceState
			}),
		tracing("cuts-the-trace-state", "P14/tracestate",
			"Of a trace state the first member is passed on.",
			func(_ running, _ protocol.TraceContext, trace *protocol.TraceContext) {
				trace.TraceState, _, _ = strings.Cut(trace.TraceState, ",")
			}),
	}
}

func runtimeNames() []Mutant {
	naming := func(id, requirement, sentence string, choose func(g reference.Registry, name string) (reference.Transport, error)) Mutant {
		return Mutant{
			ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
			Runtime: begun(func(_ running, options *reference.RunOptions) {
				if g, ok := options.Handlers.(reference.Registry); ok {
					options.Handlers = choosing(func(name string) (reference.Transport, error) { return choose(g, name) })
				}
			}),
		}
	}
	// first is the first of the named handlers.
	first := func(g reference.Registry) (reference.Transport, error) {
		for _, name := range slices.Sorted(maps.Keys(g.Named)) {
			return g.Named[name], nil
		}
		return nil, errors.New("there is no handler with a name")
	}
	return []Mutant{
		naming("runs-the-default-alone", "P15/named",
			"The default handler is run, whatever the manifest names.",
			func(g reference.Registry, name string) (reference.Transport, error) {
				if g.Default != nil {
					return g.Default, nil
				}
				return g.Transport(name)
			}),
		naming("runs-the-first-for-unknown-names", "P15/named",
			"A session whose handler is not registered is run with the first that is.",
			func(g reference.Registry, name string) (reference.Transport, error) {
				if name != "" && g.Named[name] == nil {
					return first(g)
				}
				return g.Transport(name)
			}),
		naming("runs-the-first-for-no-name", "P15/default",
			"A session without a handler is run with the first that is registered, if one is.",
			func(g reference.Registry, name string) (reference.Transport, error) {
				if name == "" && len(g.Named) > 0 {
					return first(g)
				}
				return g.Transport(name)
			}),
	}
}
