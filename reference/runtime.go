package reference

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"pugmark.dev/conform/storage"
)

// Runtime drives sessions. Only Store must be set. A Runtime has no state of its
// own: several, in one process or in many, may work on one store at a time.
type Runtime struct {
	// Store keeps the sessions.
	Store *storage.Store
	// Clock is asked for commit times and waits out sleeps; nil is the system's.
	Clock Clock
	// IDs gives session and span IDs; nil draws them at random.
	IDs IDs
	// Logger is told what is worth knowing and no error; nil discards it.
	Logger *slog.Logger
	// Tracer makes the spans of invocations; nil makes none. The ID generator of its
	// provider must take the trace IDs of root spans from [SessionTraceID].
	Tracer trace.Tracer
	// Sources opens the bodies of Outputs that come by uri. Nil refuses them all.
	Sources Sources
	// Listen opens the listener of a server; nil means a free port of 127.0.0.1,
	// as a literal address, so that no name service stands between.
	Listen func(context.Context) (net.Listener, error)
	// ObjectServer and MemoryServer decorate the handlers of section 7; nil leaves
	// them as they are.
	ObjectServer, MemoryServer func(http.Handler) http.Handler
}

// Clock is the time as the runtime sees it.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// Sleep waits for d, or until ctx ends, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// IDs gives fresh identifiers.
type IDs interface {
	// Session returns 16 bytes, not all zero, for a session (section 11).
	Session() [16]byte
	// Span returns 8 bytes, not all zero, for an invocation's span (section 14).
	Span() [8]byte
}

// sleepPoll is how often a sleeping session is looked at for new entries, which
// end the sleep (P10/wake).
const sleepPoll = 250 * time.Millisecond

func (r *Runtime) clock() Clock {
	if r.Clock != nil {
		return r.Clock
	}
	return systemClock{}
}

func (r *Runtime) ids() IDs {
	if r.IDs != nil {
		return r.IDs
	}
	return randomIDs{}
}

func (r *Runtime) logger() *slog.Logger {
	if r.Logger != nil {
		return r.Logger
	}
	return slog.New(slog.DiscardHandler)
}

func (r *Runtime) newSessionID() string {
	id := r.ids().Session()
	return hex.EncodeToString(id[:])
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

type randomIDs struct{}

func (randomIDs) Session() (id [16]byte) {
	for id == [16]byte{} {
		_, _ = rand.Read(id[:]) // never fails; it ends the program if it must
	}
	return id
}

func (randomIDs) Span() (id [8]byte) {
	for id == [8]byte{} {
		_, _ = rand.Read(id[:])
	}
	return id
}
