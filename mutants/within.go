package mutants

import (
	"context"
	"io"
	"iter"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// carrier carries an invocation, and knows the runtime whose it is.
type carrier struct {
	engine *reference.Runtime
	reference.Transport
}

// carried makes a runtime whose invocations are carried by one function. What it
// closes over belongs to the runtime.
func carried(carry func(ctx context.Context, by carrier, invocation reference.Invocation) error) *stage.Reference {
	return &stage.Reference{Within: func(engine *reference.Runtime, t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			return carry(ctx, carrier{engine, t}, invocation)
		})
	}}
}

// logged is an entry of a session's log, and the Input that it is replayed as; nil
// for an entry that handlers are not fed.
type logged struct {
	reference.LogEntry
	input *protocol.Input
}

// past is what an invocation is made on: the whole log, with what is kept from
// handlers.
type past struct {
	engine  *reference.Runtime
	session string
	version int64
	log     []logged
	// event is the lifecycle event that is due.
	event string
}

// pastOf reads the log that belongs to the Inputs of an invocation.
func pastOf(ctx context.Context, engine *reference.Runtime, invocation reference.Invocation) (p past, announcement protocol.Input, err error) {
	p = past{engine: engine, session: invocation.Identity.Session, version: invocation.Identity.Snapshot}
	var inputs []protocol.Input
	for input, err := range invocation.Inputs {
		if err != nil {
			return p, announcement, err
		}
		inputs = append(inputs, input)
	}
	last := len(inputs) - 1
	announcement, p.event = inputs[0], inputs[last].Event
	inputs = inputs[1:last]
	for entry, err := range engine.Log(ctx, p.session) {
		if err != nil {
			return p, announcement, err
		}
		if entry.Session == p.session && entry.Version > p.version {
			break
		}
		l := logged{LogEntry: entry}
		if entry.Replayed() && len(inputs) > 0 {
			l.input, inputs = &inputs[0], inputs[1:]
		}
		p.log = append(p.log, l)
	}
	return p, announcement, nil
}

// lastStop is the place of the last control message, if that says stopped; else -1.
// Those of ancestors count only if asked for.
func (p past) lastStop(ancestors bool) int {
	for i := len(p.log) - 1; i >= 0; i-- {
		entry := p.log[i]
		if entry.Control == nil || entry.Session != p.session && !ancestors {
			continue
		}
		if entry.Control.Status == reference.StatusStopped {
			return i
		}
		break
	}
	return -1
}

// first is the place of the first entry, from a place on, for which is holds, or
// the end of the log.
func (p past) first(from int, is func(logged) bool) int {
	for i := from; i < len(p.log); i++ {
		if is(p.log[i]) {
			return i
		}
	}
	return len(p.log)
}

// latest is where the session's latest version begins.
func (p past) latest() int {
	return p.first(0, func(l logged) bool { return l.Session == p.session && l.Version == p.version })
}

// feedingPast makes a runtime that feeds its handlers other entries, and another
// lifecycle event, than it should.
func feedingPast(change func(ctx context.Context, p *past) error) *stage.Reference {
	return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		p, announcement, err := pastOf(ctx, by.engine, invocation)
		if err == nil {
			err = change(ctx, &p)
		}
		if err != nil {
			return err
		}
		invocation.Inputs = p.inputs(announcement)
		return by.Invoke(ctx, invocation)
	})
}

func (p past) inputs(announcement protocol.Input) iter.Seq2[protocol.Input, error] {
	return func(yield func(protocol.Input, error) bool) {
		if !yield(announcement, nil) {
			return
		}
		for _, l := range p.log {
			if l.input != nil && !yield(*l.input, nil) {
				return
			}
		}
		yield(protocol.Input{Event: p.event}, nil)
	}
}

// heard makes a runtime that takes other Outputs than those that came. Each
// invocation has an ear of its own.
func heard(listen func(ctx context.Context, by carrier) ear) *stage.Reference {
	return carried(func(ctx context.Context, by carrier, invocation reference.Invocation) error {
		e := listen(ctx, by)
		take := invocation.Output
		invocation.Output = func(record protocol.Record[protocol.Output]) error {
			for _, out := range e.hear(record.Value) {
				record.Value = out
				if err := take(record); err != nil {
					return err
				}
			}
			return nil
		}
		if err := by.Invoke(ctx, invocation); err != nil || e.end == nil {
			return err
		}
		for _, out := range e.end() {
			if err := take(protocol.Record[protocol.Output]{Value: out}); err != nil {
				return err
			}
		}
		return nil
	})
}

// ear hears the Outputs of one invocation.
type ear struct {
	// hear returns what is taken in the place of an Output.
	hear func(protocol.Output) []protocol.Output
	// end returns what is taken when the handler has succeeded; nil is nothing.
	end func() []protocol.Output
}

// hearing is an ear that needs to know nothing of the invocation.
func hearing(id, requirement, sentence string, listen func() ear) Mutant {
	return Mutant{
		ID: "runtime/" + id, Requirement: requirement, Sentence: sentence,
		Runtime: func() *stage.Reference {
			return heard(func(context.Context, carrier) ear { return listen() })
		},
	}
}

// bodyOf reads the body of an entry.
func bodyOf(ctx context.Context, engine *reference.Runtime, entry reference.LogEntry) ([]byte, error) {
	body, err := engine.Body(ctx, entry.DumpEntry)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
