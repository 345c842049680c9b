package mutants

import (
	"fmt"
	"net/http"
	"os"
	"slices"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/stage"
	"pugmark.dev/conform/subject"
)

// Mutant is a peer that is wrong in one thing and right in all others. Exactly one
// of Handler and Runtime is set.
type Mutant struct {
	// ID is the kind and, in words, what is wrong: handler/writes-a-byte-order-mark.
	ID string
	// Requirement is what it breaks, and what a check has to cite that catches it.
	Requirement string
	// Sentence says what it does, in one sentence.
	Sentence string
	// Handler makes the wrong handler. What it remembers between invocations
	// belongs to the value that was made.
	Handler func() fakehandler.Agreement
	// Runtime makes the wrong runtime.
	Runtime func() *stage.Reference
	// Transports is where it is wrong; empty is everywhere.
	Transports []string
	// Features is what a handler claims; empty is what that of the agreement does.
	Features []string
}

// Twin is a peer that is right, and does what few others do.
type Twin struct {
	// ID is the kind and, in words, what is unusual: handler/writes-tabs.
	ID string
	// Sentence says what it does, in one sentence.
	Sentence string
	// Handler or Runtime makes it.
	Handler func() fakehandler.Agreement
	Runtime func() *stage.Reference
	// Transports is where it can be; empty is everywhere.
	Transports []string
	// Without is the readings that it goes without, as a user's --without-readings
	// does: where a reading accepts nothing else, the cases that rest on it are left out.
	Without []string
	// Features is what a handler claims; empty is what that of the agreement does.
	// It is put to the cases that need nothing else.
	Features []string
}

// Idler is a subject that does nothing.
type Idler struct {
	// ID is the kind and, in words, what it does instead: handler/exits-at-once.
	ID string
	// Sentence says what it does, in one sentence.
	Sentence string
	// Program is the handler as a program, on the subprocess transport; Service is
	// it on http. Either may be nil.
	Program func() int
	Service http.Handler
	// Runtime is the runtime.
	Runtime subject.Runtime
}

// Kind is the kind of subject: handler or runtime.
func (m Mutant) Kind() string { return kindOf(m.Handler != nil) }

// Kind is the kind of subject: handler or runtime.
func (t Twin) Kind() string { return kindOf(t.Handler != nil) }

// Kind is the kind of subject: handler or runtime.
func (i Idler) Kind() string { return kindOf(i.Runtime == nil) }

func kindOf(handler bool) string {
	if handler {
		return casefile.KindHandler
	}
	return casefile.KindRuntime
}

// All is every mutant, handlers first, in the order of what they break.
func All() []Mutant {
	return slices.Concat(
		handlerWriters(), handlerReaders(), handlerFields(), handlerFetchers(), handlerConduct(),
		handlerSDKs(), handlerAnswers(), handlerMemory(), handlerTraces(), handlerExtremes(), handlerMixers(),
		runtimeReaders(), runtimeWriters(), runtimeStreams(), runtimeProcesses(), runtimeStores(),
		runtimeChildren(), runtimeForks(), runtimeLineages(), runtimeWrites(), runtimeIdentities(),
		runtimeStoredBodies(), runtimeManifests(), runtimeCommits(), runtimeEntries(),
		runtimeVersions(), runtimePosts(), runtimeTags(), runtimeOutputs(), runtimeServers(), runtimeMemory(),
		runtimePauses(), runtimeSleeps(), runtimeCrashes(),
		handlersOfLater(), runtimesOfLater(),
	)
}

// Twins is every twin, handlers first.
func Twins() []Twin {
	return slices.Concat(handlerTwins(), handlerHabits(), runtimeTwins(), servingTwins(), readingTwins())
}

// Idlers is every subject that does nothing, handlers first.
func Idlers() []Idler { return slices.Concat(idleHandlers(), idleRuntimes()) }

// Main is a handler of this package as a program, and returns its exit status: the
// mutant, twin or idler with that ID, over the subprocess transport or, with
// PUGMARK_RPC_URL in its environment, in RPC mode. An ID that no handler has is
// status 2.
func Main(id string, args []string) int {
	if handler := handlerOf(id); handler != nil {
		return handler().Main(args)
	}
	for _, i := range idleHandlers() {
		if i.ID == id && i.Program != nil {
			return i.Program()
		}
	}
	fmt.Fprintf(os.Stderr, "no mutant, twin or idle handler is called %q\n", id)
	return 2
}

// handlerOf is how the handler with that ID is made, or nil.
func handlerOf(id string) func() fakehandler.Agreement {
	for _, m := range All() {
		if m.ID == id {
			return m.Handler
		}
	}
	for _, t := range Twins() {
		if t.ID == id {
			return t.Handler
		}
	}
	return nil
}
