package protocol_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func TestRoutes(t *testing.T) {
	other := strings.Repeat("a", 32)
	const pause = "application/vnd.pugmark.pause+text"
	all := protocol.Output{ContentType: pause, Name: "memories/ns/x", Fork: true, Session: other, Metadata: map[string]string{"duration": "5s"}}
	without := func(change func(*protocol.Output)) protocol.Output {
		out := all
		change(&out)
		return out
	}
	for _, test := range []struct {
		name string
		out  protocol.Output
		want protocol.Route
	}{
		{"empty", protocol.Output{Data: []byte{}}, protocol.Route{Kind: protocol.RouteNone}},
		{"everything: pause first", all, protocol.Route{Kind: protocol.RoutePause, Sleep: true, Duration: "5s"}},
		{"then memory", without(func(o *protocol.Output) { o.ContentType = "" }), protocol.Route{Kind: protocol.RouteMemory, Namespace: "ns", Object: "x"}},
		{"then fork", without(func(o *protocol.Output) { o.ContentType, o.Name = "", "" }), protocol.Route{Kind: protocol.RouteFork, Session: other}},
		{"then another session", protocol.Output{Session: other}, protocol.Route{Kind: protocol.RouteSession, Session: other}},
		{"the own session is local", protocol.Output{Session: session}, protocol.Route{Kind: protocol.RouteLocal}},
		{"local", protocol.Output{Data: []byte("x")}, protocol.Route{Kind: protocol.RouteLocal}},
		{"fork with the own session stays a fork", protocol.Output{Fork: true, Session: session}, protocol.Route{Kind: protocol.RouteFork, Session: session}},
		{"fork without an ID", protocol.Output{Fork: true}, protocol.Route{Kind: protocol.RouteFork}},
		{"pure pause", protocol.Output{ContentType: pause}, protocol.Route{Kind: protocol.RoutePause}},
		{"sleep of an empty text", protocol.Output{ContentType: pause, Metadata: map[string]string{"duration": ""}}, protocol.Route{Kind: protocol.RoutePause, Sleep: true}},
		{"pause in other letters (R50)", protocol.Output{ContentType: "Application/vnd.pugmark.pause+text"}, protocol.Route{Kind: protocol.RouteLocal}},
		{"pause with a parameter (R50)", protocol.Output{ContentType: pause + ";charset=utf-8"}, protocol.Route{Kind: protocol.RouteLocal}},
		{"deep namespace", protocol.Output{Name: "memories/team/ops/eu/k"}, protocol.Route{Kind: protocol.RouteMemory, Namespace: "team/ops/eu", Object: "k"}},
		{"dots are for the store to refuse", protocol.Output{Name: "memories/../../x/y"}, protocol.Route{Kind: protocol.RouteMemory, Namespace: "../../x", Object: "y"}},
		{"no object name (R10)", protocol.Output{Name: "memories/x"}, protocol.Route{Kind: protocol.RouteLocal}},
		{"empty object name is for the store to refuse", protocol.Output{Name: "memories/x/"}, protocol.Route{Kind: protocol.RouteMemory, Namespace: "x"}},
		{"empty namespace is for the store to refuse", protocol.Output{Name: "memories//x"}, protocol.Route{Kind: protocol.RouteMemory, Object: "x"}},
		{"both empty", protocol.Output{Name: "memories//"}, protocol.Route{Kind: protocol.RouteMemory}},
		{"prefix alone (R10)", protocol.Output{Name: "memories/"}, protocol.Route{Kind: protocol.RouteLocal}},
		{"other prefix", protocol.Output{Name: "Memories/a/b"}, protocol.Route{Kind: protocol.RouteLocal}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.out.Route(session)); diff != "" {
				t.Errorf("route (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContentTypesAreComparedExactly(t *testing.T) {
	require.True(t, protocol.IsControl("application/vnd.pugmark.control+json"))
	require.False(t, protocol.IsControl("application/vnd.pugmark.control+JSON"))
	require.False(t, protocol.IsControl("application/vnd.pugmark.control+json; charset=utf-8"))
	require.True(t, protocol.IsPause("application/vnd.pugmark.pause+text"))
	require.False(t, protocol.IsPause(""))
}
