package mutants

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/storage"
)

// runtimesOfLater is runtimes that get a first look right: they are wrong for a
// child's child, a long answer, an equal one, an empty one, or a second request.
func runtimesOfLater() []Mutant {
	return slices.Concat(runtimesOfLaterSessions(), runtimesOfLaterOutputs(), runtimesOfLaterRequests())
}

func runtimesOfLaterSessions() []Mutant {
	return []Mutant{
		{
			ID: "runtime/gives-grandchildren-no-agent", Requirement: "P15/inherited",
			Sentence: "The child of a session that has a parent itself has no agent.",
			Runtime: keeping(func(b storage.Bucket) storage.Bucket {
				return altered{Bucket: b, manifest: func(at shelf, m *storage.Manifest) error {
					if m.Parent == nil {
						return nil
					}
					parent, err := at.Manifest(context.Background(), m.Parent.Session)
					if err == nil && parent.Parent != nil {
						m.Agent = ""
					}
					return err
				}}
			}),
		},
		{
			ID: "runtime/sorts-versions-of-two-digits", Requirement: "P4.2/log-order",
			Sentence: "Version 100 is replayed before version 11.",
			Runtime: func() *stage.Reference {
				return feedingPast(func(_ context.Context, p *past) error {
					slices.SortStableFunc(p.log, func(a, b logged) int {
						if a.Session != p.session || b.Session != p.session {
							return 0
						}
						return cmp.Compare(fmt.Sprintf("%02d", a.Version), fmt.Sprintf("%02d", b.Version))
					})
					return nil
				})
			},
		},
		{
			ID: "runtime/remembers-trace-states", Requirement: "P14/tracestate",
			Sentence: "The trace state of a session's earlier run is passed on when there is none.",
			Runtime: func() *stage.Reference {
				var mu sync.Mutex
				seen := map[string]protocol.TraceContext{}
				return &stage.Reference{Begin: func(_ *reference.Runtime, session string, options *reference.RunOptions) {
					mu.Lock()
					defer mu.Unlock()
					if options.Trace.TraceState != "" {
						seen[session] = options.Trace
					} else if earlier, ok := seen[session]; ok {
						options.Trace = earlier
					}
				}}
			},
		},
		{
			ID: "runtime/tells-of-the-session-that-began-last", Requirement: "P13/identity-variables",
			Sentence: "Of runs that go on at the same time all handlers are told of the session whose run began last.",
			Runtime: func() *stage.Reference {
				var mu sync.Mutex
				var latest protocol.Identity
				return transported(func(t reference.Transport) reference.Transport {
					return invoking(func(ctx context.Context, invocation reference.Invocation) error {
						mu.Lock()
						latest = invocation.Identity
						mu.Unlock()
						time.Sleep(50 * time.Millisecond) // as long as a runtime takes to get ready
						mu.Lock()
						invocation.Identity = latest
						mu.Unlock()
						return t.Invoke(ctx, invocation)
					})
				})()
			},
		},
	}
}

// gathering makes a runtime that takes the Outputs of an invocation when it has
// ended: those that choose returns, and the error with which it ends.
func gathering(choose func(session string, outputs []protocol.Record[protocol.Output], err error) ([]protocol.Record[protocol.Output], error)) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			var outputs []protocol.Record[protocol.Output]
			take := invocation.Output
			invocation.Output = func(record protocol.Record[protocol.Output]) error {
				outputs = append(outputs, record)
				return nil
			}
			outputs, err := choose(invocation.Identity.Session, outputs, t.Invoke(ctx, invocation))
			if err != nil {
				return err
			}
			for _, record := range outputs {
				if err := take(record); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func runtimesOfLaterOutputs() []Mutant {
	type outputs = []protocol.Record[protocol.Output]
	text := func(all outputs) string {
		var b strings.Builder
		for _, record := range all {
			b.Write(record.Raw)
		}
		return b.String()
	}
	return []Mutant{
		{
			ID: "runtime/forgives-failures-without-outputs", Requirement: "P16/failure",
			Sentence: "A failure that wrote no Output is taken for an invocation that had nothing to say.",
			Runtime: gathering(func(_ string, all outputs, err error) (outputs, error) {
				if len(all) == 0 {
					return nil, nil
				}
				return all, err
			}),
		},
		{
			ID: "runtime/keeps-a-thousand-outputs-of-a-failure", Requirement: "S3/failed-leaves-nothing",
			Sentence: "Outputs are committed a thousand at a time, and the first thousand stays when the invocation fails.",
			Runtime: gathering(func(_ string, all outputs, err error) (outputs, error) {
				if err != nil && len(all) >= 1000 {
					return all[:1000], nil
				}
				return all, err
			}),
		},
		{
			ID: "runtime/keeps-equal-outputs-once", Requirement: "P5.3/routing",
			Sentence: "Of the equal Outputs of one invocation the first is taken.",
			Runtime: gathering(func(_ string, all outputs, err error) (once outputs, _ error) {
				seen := map[string]bool{}
				for _, record := range all {
					if raw := string(record.Raw); !seen[raw] {
						seen[raw] = true
						once = append(once, record)
					}
				}
				return once, err
			}),
		},
		{
			ID: "runtime/takes-equal-answers-for-retries", Requirement: "P1/next-version",
			Sentence: "An invocation that writes what the one before wrote is taken for a retry, and commits nothing.",
			Runtime: func() *stage.Reference {
				var mu sync.Mutex
				before := map[string]string{}
				return gathering(func(session string, all outputs, err error) (outputs, error) {
					mu.Lock()
					defer mu.Unlock()
					said := text(all)
					if err != nil || said == "" || before[session] == said {
						return nil, err
					}
					before[session] = said
					return all, nil
				})()
			},
		},
		{
			ID: "runtime/keeps-what-an-empty-body-replaces", Requirement: "P8.4/replaces",
			Sentence: "A memory write of an empty body is left out.",
			Runtime: gathering(func(session string, all outputs, err error) (outputs, error) {
				return slices.DeleteFunc(all, func(record protocol.Record[protocol.Output]) bool {
					out := record.Value
					return out.Route(session).Kind == protocol.RouteMemory && len(out.Data) == 0 && out.URI == ""
				}), err
			}),
		},
		{
			ID: "runtime/cuts-long-reasons", Requirement: "P10/control-at-commit",
			Sentence: "The reason of a pause is cut after 1024 bytes.",
			Runtime: gathering(func(_ string, all outputs, err error) (outputs, error) {
				for i := range all {
					if out := &all[i].Value; out.ContentType == protocol.TypePause {
						out.Data = out.Data[:min(len(out.Data), 1024)]
					}
				}
				return all, err
			}),
		},
		{
			ID: "runtime/counts-sleeps-from-the-invocation", Requirement: "P10/control-at-commit",
			Sentence: "A start-at is the duration after the handler was invoked, not after the commit.",
			Runtime: func() *stage.Reference {
				var mu sync.Mutex
				begun := map[string]time.Time{}
				r := controlling(func(ctx context.Context, c *commit, e *storage.Entry) error {
					message, err := control(*e)
					mu.Lock()
					defer mu.Unlock()
					if err != nil || message.StartAt.IsZero() || begun[c.session].IsZero() {
						return err
					}
					message.StartAt = message.StartAt.Add(-time.Since(begun[c.session]))
					return c.setControl(ctx, e, message)
				})
				r.Transport = func(t reference.Transport) reference.Transport {
					return invoking(func(ctx context.Context, invocation reference.Invocation) error {
						mu.Lock()
						begun[invocation.Identity.Session] = time.Now()
						mu.Unlock()
						return t.Invoke(ctx, invocation)
					})
				}
				return r
			},
		},
	}
}
