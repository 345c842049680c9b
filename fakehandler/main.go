package fakehandler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// Main is the scripted handler as a program. Its arguments are the path of the
// script (the JSON of a [Script]) and the record folder; both should be absolute.
// It returns the exit status, unless the script ends the process by a signal.
//
// Without PUGMARK_RPC_URL in the environment it is one invocation on the subprocess
// transport. With it, it serves the invocations of RPC mode on descriptor 3 until
// SIGTERM (sections 2 and 13).
//
// The program's own hidden verb is found again, for grandchildren, as what stands
// before args in [os.Args].
func Main(args []string) int {
	keepBrokenPipes()
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "the scripted handler takes the path of its script and its record folder")
		return StatusFault
	}
	if args[0] == grandchildVerb {
		return liveFor(args[1])
	}
	s := scripted{script: args[0], folder: args[1], prefix: os.Args[:max(len(os.Args)-len(args), 1)]}
	if address := os.Getenv(protocol.EnvRPCURL); address != "" {
		return s.serveRPC(address)
	}
	return s.subprocess()
}

// Handler is the scripted handler on the http transport, in the harness's own
// process: operations that need a process of their own are faults of the script.
func Handler(scriptPath, recordFolder string) http.Handler {
	return &service{scripted: scripted{script: scriptPath, folder: recordFolder}, transport: protocol.TransportHTTP}
}

// scripted is where the script is, where the records go, and how the program is
// called.
type scripted struct {
	script, folder string
	prefix         []string
}

// subprocess plays one invocation on stdin and stdout.
func (s scripted) subprocess() int {
	rec, err := newRecord(s.folder, protocol.TransportSubprocess)
	if err != nil {
		return complain(err)
	}
	rec.process()
	p := &player{
		folder: s.folder, rec: rec, prefix: s.prefix, out: &stdio{rec: rec},
		in:    newInput(os.Stdin, transcript.Stdin, rec),
		trace: protocol.TraceContextFromEnviron(os.Getenv),
	}
	end, err := p.playNumbered(context.Background(), s.script)
	if err != nil {
		p.fault(err)
		end = outcome{status: StatusFault}
		complain(err)
	}
	if end.signal != "" {
		return die(rec, end.signal)
	}
	rec.exited(transcript.Ended{How: transcript.HowExit, Code: end.status})
	if err := rec.close(); err != nil {
		return complain(err)
	}
	return end.status
}

// playNumbered plays the turn of the script that the record's number picks.
func (p *player) playNumbered(ctx context.Context, path string) (outcome, error) {
	turn, err := loadTurn(path, p.rec.number)
	if err != nil {
		return outcome{}, err
	}
	return p.play(ctx, turn)
}

// die records the end and ends the process by the signal.
func die(rec *record, name string) int {
	number, err := signalNumber(name)
	if err == nil {
		rec.exited(transcript.Ended{How: transcript.HowSignal, Signal: int(number), Name: "SIG" + name})
		err = endBySignal(name)
	}
	return complain(err)
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "scripted handler:", err)
	return StatusFault
}

// stdio is the channel of the subprocess transport.
type stdio struct{ rec *record }

func (*stdio) own() bool { return true }

func (*stdio) shape(script.Answer) error {
	return errors.New("there is no answer to shape on the subprocess transport")
}

func (s *stdio) write(data []byte, pause time.Duration) error {
	sleep(context.Background(), pause)
	return writeRecorded(os.Stdout, transcript.Stdout, data, s.rec)
}

// diagnose goes on when nobody reads: diagnostics are not part of the protocol.
func (s *stdio) diagnose(data []byte) error {
	_ = writeRecorded(os.Stderr, transcript.Stderr, data, s.rec)
	return nil
}

func (s *stdio) close(stream string) error {
	file := os.Stdout
	if stream == transcript.Stdin {
		file = os.Stdin
	}
	err := file.Close()
	s.rec.closed(stream, "by us")
	return err
}

// writeRecorded records what went out, and that no more could.
func writeRecorded(w io.Writer, stream string, data []byte, rec *record) error {
	n, err := w.Write(data)
	rec.sent(stream, data[:n])
	if err != nil {
		rec.closed(stream, "by the peer: "+err.Error())
	}
	return err
}

// serveRPC serves invocations on descriptor 3.
func (s scripted) serveRPC(address string) int {
	listener, err := inheritedListener(address)
	if err != nil {
		return complain(err)
	}
	return serveUntilTerminated(listener, &service{scripted: s, transport: protocol.TransportRPC})
}

// inheritedListener is the socket of RPC mode (section 13).
func inheritedListener(address string) (net.Listener, error) {
	if address != protocol.RPCURL {
		return nil, fmt.Errorf("%s is %q, and only %s is known", protocol.EnvRPCURL, address, protocol.RPCURL)
	}
	// FileListener makes a copy. The original must not stay: unlike the copy it
	// would be inherited by grandchildren.
	file := os.NewFile(3, "rpc socket")
	if file == nil {
		return nil, errors.New("descriptor 3 is not open")
	}
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor 3: %w", err)
	}
	return listener, nil
}

// serveUntilTerminated serves until SIGTERM, and then ends at once: whoever sends
// it no longer wants an answer.
func serveUntilTerminated(listener net.Listener, handler http.Handler) int {
	server := &http.Server{Handler: handler}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		fmt.Fprintln(os.Stderr, "handler:", err)
		return 1
	case <-terminated:
		server.Close()
		return 0
	}
}
