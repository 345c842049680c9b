package protocol_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

const traceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" // the example of the W3C text

func exampleParent() protocol.TraceParent {
	return protocol.TraceParent{
		TraceID: [16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		SpanID:  [8]byte{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
		Flags:   protocol.FlagSampled,
	}
}

func TestTraceParentsAreRead(t *testing.T) {
	later := exampleParent()
	later.Version = 0xcc
	for text, want := range map[string]protocol.TraceParent{
		traceParent:                          exampleParent(),
		"cc" + traceParent[2:]:               later,
		"cc" + traceParent[2:] + "-":         later,
		"cc" + traceParent[2:] + "-what-may": later,
	} {
		got, err := protocol.ParseTraceParent(text)
		require.NoError(t, err, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		require.Equal(t, traceParent, got.String())
	}
	require.Equal(t, traceParent, protocol.FormatTraceParent(exampleParent().TraceID, exampleParent().SpanID, 1))
	require.Equal(t, traceParent[:53]+"0a", protocol.FormatTraceParent(exampleParent().TraceID, exampleParent().SpanID, 10))
}

func TestInvalidTraceParentsAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"version ff":                   "ff" + traceParent[2:],
		"text after the flags":         traceParent + "-00",
		"a byte after the flags":       traceParent + "0",
		"upper-case trace ID":          strings.Replace(traceParent, "4bf9", "4BF9", 1),
		"upper-case span ID":           strings.Replace(traceParent, "67aa", "67AA", 1),
		"upper-case flags":             traceParent[:53] + "0A",
		"upper-case version":           "0A" + traceParent[2:],
		"54 characters":                traceParent[:54],
		"trace ID of zeros":            "00-" + strings.Repeat("0", 32) + traceParent[35:],
		"span ID of zeros":             traceParent[:36] + strings.Repeat("0", 16) + "-01",
		"no hex digit":                 strings.Replace(traceParent, "4bf9", "4bg9", 1),
		"a later version that runs on": "cc" + traceParent[2:] + "00",
		"spaces around":                " " + traceParent + " ",
		"other separators":             strings.ReplaceAll(traceParent, "-", "_"),
		"shifted dash":                 "000" + traceParent[3:],
		"nothing":                      "",
	} {
		got, err := protocol.ParseTraceParent(text)
		require.Error(t, err, name)
		require.Equal(t, protocol.TraceParent{}, got)
	}
}

func traceMembers(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf("k%d=v", i))
	}
	return strings.Join(members, ",")
}

func TestTraceStates(t *testing.T) {
	long := strings.Repeat("a", 256)
	for text, want := range map[string]bool{
		"": true, "a=b": true, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE": true, "a=b , \tc=d": true, "a=b,,c=d": true,
		"fw529a3039@dt=FfD/=": false, "fw529a3039@dt=FfD/": true, "0a=b": true, "a_-*/@=b": true, "a= x": true,
		long + "=" + long: true, traceMembers(32): true,
		traceMembers(33): false, long + "a=b": false, "a=" + long + "a": false,
		"a": false, "a=": false, "=b": false, "A=b": false, "_a=b": false, "a =b": false, "a=b=c": false,
		"a=b,a=c": false, "a=é": false, "a=\x7f": false, "a=b\n": false, "a=b;c=d": false, "a=b;c": true,
	} {
		require.Equal(t, want, protocol.ValidTraceState(text), "%q", text)
	}
}

func TestATraceStateGoesOnOnlyWithAValidTraceParent(t *testing.T) {
	for _, test := range []struct{ given, want protocol.TraceContext }{ // F51
		{protocol.TraceContext{TraceState: "a=b"}, protocol.TraceContext{}},
		{protocol.TraceContext{TraceParent: "broken", TraceState: "a=b"}, protocol.TraceContext{}},
		{protocol.TraceContext{TraceParent: traceParent, TraceState: "A=b"}, protocol.TraceContext{TraceParent: traceParent}},
		{protocol.TraceContext{TraceParent: traceParent, TraceState: "a=b"}, protocol.TraceContext{TraceParent: traceParent, TraceState: "a=b"}},
	} {
		if diff := cmp.Diff(test.want, test.given.Valid()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.given, diff)
		}
	}
}

func TestTraceContextTravels(t *testing.T) {
	whole := protocol.TraceContext{TraceParent: traceParent, TraceState: "a=b"}
	require.Equal(t, []string{"TRACEPARENT=" + traceParent, "TRACESTATE=a=b"}, whole.Environ())
	require.Empty(t, protocol.TraceContext{}.Environ())
	env := map[string]string{"TRACEPARENT": "p", "TRACESTATE": "s"}
	require.Equal(t, protocol.TraceContext{TraceParent: "p", TraceState: "s"},
		protocol.TraceContextFromEnviron(func(name string) string { return env[name] }))

	h := http.Header{}
	whole.SetHeader(h)
	require.Equal(t, http.Header{"Traceparent": {traceParent}, "Tracestate": {"a=b"}}, h)
	require.Equal(t, whole, protocol.TraceContextFromHeader(h))
	protocol.TraceContext{}.SetHeader(h)
	require.Empty(t, h)
	h = http.Header{"Traceparent": {traceParent, traceParent}, "Tracestate": {"a=b", "c=d"}}
	got := protocol.TraceContextFromHeader(h)
	require.Equal(t, "a=b,c=d", got.TraceState)
	require.Equal(t, protocol.TraceContext{}, got.Valid())
}
