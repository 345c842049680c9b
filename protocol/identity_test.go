package protocol_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

const session = "0123456789abcdef0123456789abcdef"

func fullIdentity() protocol.Identity {
	return protocol.Identity{Agent: "an agent=1", Session: session, Snapshot: 12,
		Metadata: map[string]string{"z": "é漢😀", "a": "\"\\\x00\n\x7f<&>"}}
}

// The metadata of fullIdentity, by hand: U+1F600 is the pair d83d de00.
const fullMetadata = `{"a":"\"\\\u0000\u000a\u007f<&>","z":"\u00e9\u6f22\ud83d\ude00"}`

func TestEnviron(t *testing.T) {
	got, err := fullIdentity().Environ()
	require.NoError(t, err)
	want := []string{"PUGMARK_AGENT_ID=an agent=1", "PUGMARK_SESSION_ID=" + session, "PUGMARK_SESSION_METADATA=" + fullMetadata}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	got, err = protocol.Identity{Session: session, Metadata: map[string]string{}}.Environ()
	require.NoError(t, err)
	if diff := cmp.Diff([]string{"PUGMARK_AGENT_ID=", "PUGMARK_SESSION_ID=" + session}, got); diff != "" {
		t.Errorf("environment without metadata (-want +got):\n%s", diff)
	}
}

func TestEnvironRefusesWhatCannotTravel(t *testing.T) {
	for want, id := range map[string]protocol.Identity{
		"PUGMARK_AGENT_ID: NUL at byte 1":           {Agent: "a\x00b"},
		"PUGMARK_SESSION_ID: NUL at byte 0":         {Session: "\x00"},
		`PUGMARK_AGENT_ID: "\xff": invalid UTF-8`:   {Agent: "\xff"},
		`PUGMARK_SESSION_METADATA: metadata "\xff"`: {Metadata: map[string]string{"\xff": "v"}},
		`PUGMARK_SESSION_METADATA: metadata "k"`:    {Metadata: map[string]string{"k": "\xff"}},
	} {
		_, err := id.Environ()
		require.ErrorContains(t, err, want)
	}
}

// metadataOf is metadata whose variable or header takes exactly size bytes.
func metadataOf(size, around int) map[string]string {
	return map[string]string{"k": strings.Repeat("x", size-around-len(`{"k":""}`))}
}

func TestTheEnvironmentLimitIsTheSystems(t *testing.T) {
	// Linux: one string of the environment, with its NUL, is at most 131072 bytes.
	around := len("PUGMARK_SESSION_METADATA=") + 1
	fits, err := protocol.Identity{Session: session, Metadata: metadataOf(131072, around)}.Environ()
	require.NoError(t, err)
	cmd := exec.Command("/bin/true")
	cmd.Env = fits
	require.NoError(t, cmd.Run())
	cmd = exec.Command("/bin/true")
	cmd.Env = []string{fits[2] + "x"}
	require.ErrorContains(t, cmd.Run(), "argument list too long")

	_, err = protocol.Identity{Session: session, Metadata: metadataOf(131073, around)}.Environ()
	var limit *protocol.LimitError
	require.ErrorAs(t, err, &limit)
	want := protocol.LimitError{What: "environment variable PUGMARK_SESSION_METADATA",
		Limit: "one environment variable on Linux", Size: 131073, Max: 131072}
	if diff := cmp.Diff(want, *limit); diff != "" {
		t.Errorf("limit (-want +got):\n%s", diff)
	}
}

func TestCleanEnviron(t *testing.T) {
	env := []string{"PATH=/bin", "PUGMARK_SESSION_ID=x", "PUGMARK_FUTURE=1", "PUGMARK_=", "TRACEPARENT=x", "TRACESTATE=", "PUGMARKER=1",
		"TRACEPARENTS=1", "MY_PUGMARK_X=1", "pugmark_x=1", "A=PUGMARK_X=1", "", "PUGMARK_BARE", "EMPTY="}
	given := append([]string(nil), env...)
	got := protocol.CleanEnviron(env)
	want := []string{"PATH=/bin", "PUGMARKER=1", "TRACEPARENTS=1", "MY_PUGMARK_X=1", "pugmark_x=1", "A=PUGMARK_X=1", "", "EMPTY="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	require.Equal(t, given, env)
}

func getenv(env []string) func(string) string {
	return func(name string) string {
		for _, setting := range env {
			if value, found := strings.CutPrefix(setting, name+"="); found {
				return value
			}
		}
		return ""
	}
}

func TestIdentityTravelsByEnvironment(t *testing.T) {
	id := fullIdentity()
	env, err := id.Environ()
	require.NoError(t, err)
	got, err := protocol.IdentityFromEnviron(getenv(env))
	require.NoError(t, err)
	id.Snapshot = 0
	if diff := cmp.Diff(id, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
}

func TestIdentityFromEnvironIsStrict(t *testing.T) {
	id := "PUGMARK_SESSION_ID=" + session
	for want, env := range map[string][]string{
		"PUGMARK_SESSION_ID: absent":                               {},
		"PUGMARK_SESSION_ID: \"x\"":                                {"PUGMARK_SESSION_ID=x"},
		"PUGMARK_AGENT_ID":                                         {id, "PUGMARK_AGENT_ID=\xff"},
		"PUGMARK_SESSION_METADATA: no JSON":                        {id, "PUGMARK_SESSION_METADATA=x"},
		"no JSON object of strings: null":                          {id, "PUGMARK_SESSION_METADATA= null"},
		"no JSON object of strings: \"[]\"":                        {id, "PUGMARK_SESSION_METADATA=[]"},
		"no JSON object of strings: unexpected":                    {id, "PUGMARK_SESSION_METADATA= "},
		"unexpected EOF":                                           {id, `PUGMARK_SESSION_METADATA={"a":"b"`},
		"at byte 5: field \"metadata\" wants a string, got number": {id, `PUGMARK_SESSION_METADATA={"a":1}`},
		"wants strings as values, got a null":                      {id, `PUGMARK_SESSION_METADATA={"a":null}`},
		"duplicate":                                                {id, `PUGMARK_SESSION_METADATA={"a":"b","a":"c"}`},
		"text after the JSON object":                               {id, `PUGMARK_SESSION_METADATA={"a":"b"}{}`},
	} {
		_, err := protocol.IdentityFromEnviron(getenv(env))
		require.Error(t, err, want)
		require.ErrorContains(t, err, strings.ReplaceAll(want, ": null", ": \" null\""))
	}
}

func TestQuery(t *testing.T) {
	require.Equal(t, "agent=an+agent%3D1&session="+session+"&snapshot=12", fullIdentity().Query().Encode())
	require.Equal(t, "agent=&session=&snapshot=0", protocol.Identity{}.Query().Encode())
}

func TestMetadataHeader(t *testing.T) {
	h := http.Header{}
	require.NoError(t, fullIdentity().SetHeader(h))
	require.Equal(t, http.Header{"X-Pugmark-Session-Metadata": {fullMetadata}}, h)
	require.NoError(t, protocol.Identity{}.SetHeader(h))
	require.Empty(t, h, "the header is omitted without metadata (R33)")
	require.ErrorIs(t, protocol.Identity{Metadata: map[string]string{"k": "\xff"}}.SetHeader(h), protocol.ErrInvalidUTF8)

	around := len("X-Pugmark-Session-Metadata: \r\n")
	require.NoError(t, protocol.Identity{Metadata: metadataOf(65536, around)}.SetHeader(h))
	err := protocol.Identity{Metadata: metadataOf(65537, around)}.SetHeader(http.Header{})
	require.EqualError(t, err, "header X-Pugmark-Session-Metadata takes 65537 bytes, over the limit of 65536 for one header line")
}

func TestIdentityTravelsByRequest(t *testing.T) {
	id := fullIdentity()
	var got protocol.Identity
	var failure error
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, failure = protocol.IdentityFromRequest(r)
	}))
	defer server.Close()
	r, err := http.NewRequest(http.MethodPost, server.URL+"?"+id.Query().Encode(), nil)
	require.NoError(t, err)
	require.NoError(t, id.SetHeader(r.Header))
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.NoError(t, failure)
	if diff := cmp.Diff(id, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
}

func request(query string, metadata ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.URL.RawQuery = query
	for _, line := range metadata {
		r.Header.Add("x-pugmark-session-metadata", line)
	}
	return r
}

func TestIdentityFromRequest(t *testing.T) {
	got, err := protocol.IdentityFromRequest(request("session="+session+"&snapshot=0&other=1", `{"k":"é"}`))
	require.NoError(t, err, "an absent agent is none (R32), raw UTF-8 is taken (R12)")
	if diff := cmp.Diff(protocol.Identity{Session: session, Metadata: map[string]string{"k": "é"}}, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	const good = "agent=a&session=" + session + "&snapshot=3"
	for want, r := range map[string]*http.Request{
		`"session": absent`:       request("agent=a&snapshot=3"),
		`"session": "XYZ"`:        request("agent=a&snapshot=3&session=XYZ"),
		`"snapshot": absent`:      request("agent=a&session=" + session),
		`"-1" is no`:              request("session=" + session + "&snapshot=-1"),
		`"+1" is no`:              request("session=" + session + "&snapshot=%2B1"),
		`"1.0" is no`:             request("session=" + session + "&snapshot=1.0"),
		"of 64 bits":              request("session=" + session + "&snapshot=9223372036854775808"),
		`"session": given 2`:      request(good + "&session=" + session),
		`"agent": given 2`:        request(good + "&agent="),
		`"agent": "\xff"`:         request("agent=%ff&session=" + session + "&snapshot=3"),
		"query of the request":    request(good + "&x=%zz"),
		"Metadata: given 2 times": request(good, "{}", "{}"),
		"Metadata: no JSON":       request(good, "x"),
		"strings: unexpected EOF": request(good, ""),
		"wants strings as values": request(good, `{"k":null}`),
	} {
		_, err := protocol.IdentityFromRequest(r)
		require.ErrorContains(t, err, want)
	}
}

func TestSessionIDs(t *testing.T) {
	for text, want := range map[string]bool{
		session: true, strings.Repeat("f", 32): true, strings.Repeat("0", 31) + "1": true,
		strings.Repeat("0", 32): false, session[:31]: false, session + "0": false, "": false, strings.ToUpper(session): false,
		"0123456789abcdef-0123456789abcde": false, "../../../../../../../../../tmp/z": false,
	} {
		require.Equal(t, want, protocol.ValidSessionID(text), text)
	}
}

func TestDigests(t *testing.T) {
	// FIPS 180-2, appendix B.1.
	const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	require.Equal(t, abc, protocol.Digest([]byte("abc")))
	require.Equal(t, "/"+abc, protocol.ObjectPath(abc))
	for text, want := range map[string]bool{
		abc: true, abc[7:]: false, abc + "0": false, abc[:70]: false, strings.ToUpper(abc): false, "sha256:" + strings.ToUpper(abc[7:]): false,
		"sha512:" + abc[7:]: false, "": false, "sha256:../" + abc[10:]: false,
	} {
		require.Equal(t, want, protocol.ValidDigest(text), text)
	}
}

func TestTheEnvironmentOfThisProcessIsUsable(t *testing.T) {
	t.Setenv("PUGMARK_SESSION_ID", session)
	t.Setenv("PUGMARK_AGENT_ID", "a")
	t.Setenv("PUGMARK_SESSION_METADATA", "")
	got, err := protocol.IdentityFromEnviron(os.Getenv)
	require.NoError(t, err)
	if diff := cmp.Diff(protocol.Identity{Agent: "a", Session: session}, got); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
}
