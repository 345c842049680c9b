package casefile

import (
	"bytes"
	"fmt"
)

// Scaffold returns a case of the kind that covers the requirement, to begin a new
// one with. It loads as it is when the requirement binds the kind; what it
// expects is for its author to change. Nil for what is no kind.
func Scaffold(kind, requirement string) []byte {
	var b bytes.Buffer
	switch kind {
	case KindHandler:
		fmt.Fprintf(&b, `# One sentence: what the protocol says, and where.
why: Section N says that a handler does this.
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
why: Section N says that a runtime does this.
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
