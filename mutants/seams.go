package mutants

import (
	"context"
	"io"
	"iter"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/reference"
	"pugmark.dev/conform/stage"
)

// The functions of this file make a runtime out of the reference by one of its
// seams.

// wired makes a runtime whose streams have another format.
func wired(wire reference.Wire) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		switch t := t.(type) {
		case reference.Subprocess:
			t.Wire = wire
			return t
		case reference.HTTP:
			t.Wire = wire
			return t
		case *reference.RPC:
			t.Wire = wire
		}
		return t
	})
}

// transported makes a runtime whose transports are wrapped.
func transported(wrap func(reference.Transport) reference.Transport) func() *stage.Reference {
	return func() *stage.Reference { return &stage.Reference{Transport: wrap} }
}

// writesInputs writes the stream of Inputs in a layout, and reads as it should.
type writesInputs struct {
	reference.JSONWire
	layout layout
}

func (w writesInputs) WriteInputs(to io.Writer, inputs iter.Seq2[protocol.Input, error]) error {
	e := &emitter{w: to, layout: w.layout}
	if err := w.JSONWire.WriteInputs(e, inputs); err != nil {
		return err
	}
	return e.Close()
}

// readsOutputs reads the stream of Outputs through a wrapper, and writes as it
// should.
type readsOutputs struct {
	reference.JSONWire
	wrap func(io.Reader) io.Reader
}

func (w readsOutputs) ReadOutputs(from io.Reader, output func(protocol.Record[protocol.Output]) error) error {
	return w.JSONWire.ReadOutputs(w.wrap(from), output)
}

// fed makes a runtime that feeds its handlers other Inputs.
func fed(change func(iter.Seq2[protocol.Input, error]) iter.Seq2[protocol.Input, error]) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			invocation.Inputs = change(invocation.Inputs)
			return t.Invoke(ctx, invocation)
		})
	})
}

// gathered is fed, with all the Inputs at hand.
func gathered(change func([]protocol.Input) []protocol.Input) func() *stage.Reference {
	return fed(func(inputs iter.Seq2[protocol.Input, error]) iter.Seq2[protocol.Input, error] {
		return restreamed(inputs, change)
	})
}

// restreamed is a stream of Inputs that is changed as a whole.
func restreamed(inputs iter.Seq2[protocol.Input, error], change func([]protocol.Input) []protocol.Input) iter.Seq2[protocol.Input, error] {
	return func(yield func(protocol.Input, error) bool) {
		var all []protocol.Input
		for input, err := range inputs {
			if err != nil {
				yield(input, err)
				return
			}
			all = append(all, input)
		}
		for _, input := range change(all) {
			if !yield(input, nil) {
				return
			}
		}
	}
}

// each is fed, record by record.
func each(change func(protocol.Input) protocol.Input) func() *stage.Reference {
	return gathered(func(all []protocol.Input) []protocol.Input {
		for i := range all {
			all[i] = change(all[i])
		}
		return all
	})
}

// taken makes a runtime that takes other Outputs than those that came.
func taken(change func(protocol.Output) protocol.Output) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			take := invocation.Output
			invocation.Output = func(record protocol.Record[protocol.Output]) error {
				record.Value = change(record.Value)
				return take(record)
			}
			return t.Invoke(ctx, invocation)
		})
	})
}

// ended makes a runtime that looks otherwise at how an invocation ended.
func ended(look func(error) error) func() *stage.Reference {
	return transported(func(t reference.Transport) reference.Transport {
		return invoking(func(ctx context.Context, invocation reference.Invocation) error {
			return look(t.Invoke(ctx, invocation))
		})
	})
}

// invoking is a transport that is one function.
type invoking func(context.Context, reference.Invocation) error

func (i invoking) Invoke(ctx context.Context, invocation reference.Invocation) error {
	return i(ctx, invocation)
}

// isEntry reports whether an Input is a replayed entry.
func isEntry(in protocol.Input) bool {
	switch in.Event {
	case protocol.EventPush:
		return true
	case "":
		return in.URL != "" || in.Name != "" || len(in.Data) > 0
	}
	return false
}
