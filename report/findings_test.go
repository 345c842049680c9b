package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
)

func TestWhatDiffersByTheDigitsOfACaseIsAlike(t *testing.T) {
	for _, c := range [][2]string{
		{`body: 26 bytes, "hello, 4406944"`, `body: 26 bytes, "hello, 5856526"`},
		{"GET /sha256:37e0e424e152d0cb2cc5768772dc59ab", "GET /sha256:4187b6cd682b3358d21f17b298619fb5"},
		{"stdout, output 1, body", "answer, output 1, body"},
		{"- 00000000  37 34 39  7494331,", "- 00000000  38 35 30  8505442,"},
	} {
		require.Equal(t, newLikeness().of(c[0]), newLikeness().of(c[1]))
	}
	for _, c := range [][2]string{
		{`body: 26 bytes, "hello, 4406944"`, `body: 25 bytes, "hello, 440694"`},
		{"1048576 bytes", "1048577 bytes"},
		{"byte 1048576", "byte 1048577"},
		{"record 1", "record 2"},
		{"exit status 1", "exit status 2"},
		{"12345678", "23456789"},
	} {
		require.NotEqual(t, newLikeness().of(c[0]), newLikeness().of(c[1]))
	}
}

func TestReasonsThatDifferByTheDigitsOfACaseAreOne(t *testing.T) {
	m := newMaker(t)
	for i, digits := range []string{"4406944", "5856526"} {
		transport := []string{"rpc", "subprocess"}[i]
		m.add(result.Case{ID: "handler/inline/a", Verdict: result.NotTestable, Reason: `can't be judged: wanted "` + digits + `"`}, transport)
		m.add(result.Case{ID: "handler/inline/b", Verdict: result.NotTestable, Reason: `can't be judged: wanted "0` + digits[1:] + `"`}, transport)
	}
	m.add(result.Case{ID: "handler/inline/c", Verdict: result.NotTestable, Reason: `can't be judged: wanted "ab"`}, "rpc")
	text := summary(t, &Terminal{}, m.run)
	require.Contains(t, text, `NOT-TESTABLE  4 results
  can't be judged: wanted "4406944"
  mend first what stands in the way, most often a failure above; then the requirements of these
  cases can be seen to hold or not

  handler/inline/a on rpc, subprocess
  handler/inline/b on rpc, subprocess
`)
	require.Contains(t, text, "NOT-TESTABLE\n  can't be judged: wanted \"ab\"\n")
}
