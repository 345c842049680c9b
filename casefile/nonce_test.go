package casefile

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/spec"
)

func TestTheNonceStandsOnBothSidesOfACase(t *testing.T) {
	cases, problems := Load(mapFS(map[string]string{
		"handler/area/seeded.yaml": `why: A reader knows.
covers: [P2/same-format]
needs: [instructions]
identity: {agent: "a-{nonce}", metadata: {"k-{nonce}": v}}
input:
  records:
    - {event: memory}
    - {name: a, body: {text: "one, {nonce}"}}
    - {name: j, body: {json: {n: "{nonce}"}}}
    - {instructions: [{op: observe}]}
    - {event: start}
expect:
  exit: 0
  observed: {agent: "a-{nonce}", entries: [{name: a, body: {text: "one, {nonce}"}}, {name: j}]}
`,
		"runtime/area/story.txtar": `# why: A reader knows.
# covers: P2/same-format
start main
push main a.yaml
script quiet.yaml
run-once main
expect fed.yaml
-- a.yaml --
{name: "a-{nonce}", body: {text: x}}
-- quiet.yaml --
- read: all
-- fed.yaml --
run: success
fed: {entries: [{name: "a-{nonce}"}]}
`,
	}), registry(t))
	require.Empty(t, problems)
	h := cases[0].WithNonce("1234567").Handler
	require.Equal(t, "a-1234567", *h.Identity.Agent)
	require.Equal(t, map[string]string{"k-1234567": "v"}, h.Identity.Metadata)
	require.Equal(t, "one, 1234567", *h.Input.Records[1].Body.Text)
	require.Equal(t, `{"n":"1234567"}`, string(h.Input.Records[2].Body.JSON))
	require.Equal(t, "a-1234567", *h.Expect[0].Observed.Agent)
	require.Equal(t, "one, 1234567", *(*h.Expect[0].Observed.Entries)[0].Body.Text)
	s := cases[1].WithNonce("1234567").Story
	require.Equal(t, "{name: \"a-1234567\", body: {text: x}}\n", string(s.Files["a.yaml"]))
	require.Equal(t, "a-1234567", *(*s.Expects["fed.yaml"][0].Fed.Entries)[0].Name)

	require.Equal(t, "one, {nonce}", *cases[0].Handler.Input.Records[1].Body.Text, "the case itself stays as it is")
	require.Equal(t, "a-{nonce}", *(*cases[1].Story.Expects["fed.yaml"][0].Fed.Entries)[0].Name)
	require.Same(t, cases[0], cases[0].WithNonce(""))
	require.Len(t, Nonce, 7, "the length of what stands in its place")
}

// A subject that knows its answers by heart has to fail every built-in case, so
// something in each is another in every run.
func TestEveryBuiltInCaseVaries(t *testing.T) {
	cases, problems := Load(spec.Cases(), registry(t))
	require.Empty(t, problems)
	want := []string{
		// The page's own program is told nothing, and pauses with a text of its own.
		"handler/sdk/minimal-handler-pauses-without-entries",
		// An empty session has nothing that could vary but its ID, which does.
		"runtime/events/start",
		"runtime/http/content-length-of-an-empty-session",
		"runtime/http/no-chunked-of-an-empty-session",
		// It is about this ID.
		"runtime/storage/chosen-session-id",
	}
	var got []string
	for _, c := range cases {
		if !c.Varies() {
			got = append(got, c.ID)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases without a %s, so that a subject may know the answer by heart: put one in what must be seen (-want +got):\n%s", Nonce, diff)
	}
}
