package casefile

import (
	"bytes"
	"fmt"
)

// placeholderWhy stands in the `why` of a scaffold. No case is loaded with it: a
// reader of a failure would learn nothing.
const placeholderWhy = "Section N says"

// Scaffold returns a case of the kind that covers the requirement, to begin a new
// one with. But for its `why`, which the loader refuses, it loads as it is when the
// requirement binds the kind; what it expects is for its author to change. Nil for
// what is no kind.
func Scaffold(kind, requirement string) []byte {
	var b bytes.Buffer
	switch kind {
	case KindHandler:
		fmt.Fprintf(&b, `# One sentence: what the protocol says, and where.
why: `+placeholderWhy+` that a handler does this.
covers: [%s]
# Features that the subject has to claim.
needs: [instructions]
# The stream, record by record; framing keys (between, chunk, style, ...) go beside records.
# {nonce} is another text in each run, the same one wherever it stands.
input:
  records:
    - {event: memory}
    - {name: a, body: {text: "hello, {nonce}"}}
    - {instructions: [{op: observe}]}
    - {event: start}
# At least one check that a handler that does nothing fails.
expect:
  exit: 0
  observed: {entries: [{name: a, body: {text: "hello, {nonce}"}}]}
`, requirement)
	case KindRuntime:
		fmt.Fprintf(&b, `# One sentence: what the protocol says, and where.
why: `+placeholderWhy+` that a runtime does this.
covers: [%s]
# The session's log before the run. {nonce} is another text in each run, the same one
# wherever it stands.
push:
  - {name: a, body: {text: "hello, {nonce}"}}
# What the scripted handler does.
script:
  - read: all
  - emit: {name: reply, body: {text: "world, {nonce}"}}
# At least one check that a runtime that does nothing fails.
expect:
  run: success
  invocations: 1
  log: [{name: a, body: {text: "hello, {nonce}"}}, {name: reply, body: {text: "world, {nonce}"}}]
`, requirement)
	}
	return b.Bytes()
}

// ScaffoldStory is [Scaffold] for a story, several invocations of a runtime.
func ScaffoldStory(requirement string) []byte {
	return fmt.Appendf(nil, `# why: %[2]s that a runtime does this.
# covers: %[1]s
# needs: log

# What happens, a verb a line; spec/cases/README.md says where the verbs are listed.
start main
push main a.yaml
script first.yaml
run-once main
script second.yaml
run-once main
# What follows proves this. At least one check that a runtime that does nothing fails.
require %[1]s
expect log.yaml
-- a.yaml --
{name: a, body: {text: "hello, {nonce}"}}
-- first.yaml --
- read: all
- emit: {name: reply, body: {text: "one, {nonce}"}}
-- second.yaml --
- read: all
- emit: {name: reply, body: {text: "two, {nonce}"}}
-- log.yaml --
session: main
log:
  - {name: a, body: {text: "hello, {nonce}"}}
  - {name: reply, body: {text: "one, {nonce}"}}
  - {name: reply, body: {text: "two, {nonce}"}}
`, requirement, placeholderWhy)
}
