package reference

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"

	"pugmark.dev/conform/protocol"
)

// Transport carries an invocation to a handler and its Outputs back (section 2).
type Transport interface {
	// Invoke returns nil if the handler completed the invocation. What the
	// handler did wrong is an [*InvocationError] (P16/failure); what the runtime could not do,
	// such as reading its own store, is another error. When ctx ends, so does the
	// handler, and the error is ctx's.
	Invoke(ctx context.Context, invocation Invocation) error
}

// transportName is what spans call a transport.
func transportName(t Transport) string {
	switch t.(type) {
	case Subprocess:
		return "subprocess"
	case *RPC:
		return "rpc"
	case HTTP:
		return "http"
	default:
		return "other"
	}
}

// Invocation is what a transport carries.
type Invocation struct {
	// Identity is who is invoked, and on which version.
	Identity protocol.Identity
	// Trace is the context that the handler's spans belong to.
	Trace protocol.TraceContext
	// Inputs are the records of the input stream; each time they are ranged over
	// they begin anew. An error ends them: the stream is then not whole, and no
	// handler may take it for whole.
	Inputs iter.Seq2[protocol.Input, error]
	// Output takes each record of the output stream, in stream order. After an
	// error the invocation has failed with it, and Output is not called again.
	Output func(protocol.Record[protocol.Output]) error
}

// Wire is the format of section 3, which all transports share (P2/same-format).
type Wire interface {
	// WriteInputs writes the input stream.
	WriteInputs(w io.Writer, inputs iter.Seq2[protocol.Input, error]) error
	// ReadOutputs hands each record of the output stream to output, and stops at
	// the first error.
	ReadOutputs(r io.Reader, output func(protocol.Record[protocol.Output]) error) error
}

// JSONWire is the format itself.
type JSONWire struct{}

// inputBuffer is how many bytes of the input stream are gathered before a write.
const inputBuffer = 64 << 10

// WriteInputs implements [Wire]: one record a line (P3/trailing-lf). Package protocol
// writes each as one whole object (P3/single-object, P3/never-split) of the fields of
// version 1 that are not empty (P3.2/omit-empty, P17/closed-fields), with base64 of
// the standard alphabet in one piece (P3.1/standard-alphabet, P3.1/no-line-breaks).
func (JSONWire) WriteInputs(w io.Writer, inputs iter.Seq2[protocol.Input, error]) error {
	buffered := bufio.NewWriterSize(w, inputBuffer)
	encoder := protocol.NewEncoder(buffered)
	for input, err := range inputs {
		if err != nil {
			return err
		}
		if err := encoder.Encode(input); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// ReadOutputs implements [Wire]. Package protocol takes any white space between
// records and within (P3/any-whitespace), passes over unknown fields (P3/unknown-fields),
// and reads absent ones as empty (P3.2/missing-is-zero, P3/no-op-record) and base64
// with and without padding (P3.1/accept-unpadded). What is no record fails the whole
// stream (P3/refuses-garbage, reading R16).
func (JSONWire) ReadOutputs(r io.Reader, output func(protocol.Record[protocol.Output]) error) error {
	decoder := protocol.NewOutputDecoder(r)
	for {
		record, err := decoder.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := output(record); err != nil {
			return err
		}
	}
}

func wireOr(wire Wire) Wire {
	if wire != nil {
		return wire
	}
	return JSONWire{}
}

// readOutputs reads an output stream to its end. After a fault the rest is
// drained, so that the handler can end as it would have.
func readOutputs(wire Wire, r io.Reader, output func(protocol.Record[protocol.Output]) error) error {
	var refused error
	err := wireOr(wire).ReadOutputs(r, func(record protocol.Record[protocol.Output]) error {
		refused = output(record)
		return refused
	})
	if err == nil {
		return nil
	}
	_, _ = io.Copy(io.Discard, r)
	if refused != nil {
		return refused
	}
	var cut *protocol.ReadError
	if errors.As(err, &cut) {
		return &InvocationError{Reason: ReasonConnection, Err: err}
	}
	return &InvocationError{Reason: ReasonStream, Err: err}
}
