package result

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"pugmark.dev/conform/transcript"
)

// hard is a secret with all that escaping is about.
const hard = `pa"ss\w/ö&<+ 42`

func hardMask(t *testing.T) *Mask {
	t.Helper()
	m := NewMask([]Secret{{"API_KEY", hard}})
	require.NotNil(t, m)
	return m
}

func TestEveryFormOfASecretIsMasked(t *testing.T) {
	jsonText, err := json.Marshal(hard)
	require.NoError(t, err)
	inner := strings.Trim(string(jsonText), `"`)
	twice, err := json.Marshal(string(jsonText))
	require.NoError(t, err)
	base := base64.StdEncoding.EncodeToString([]byte(hard))
	everyByte := ""
	for i := range len(hard) {
		everyByte += "%" + strings.ToLower(string("0123456789ABCDEF"[hard[i]>>4])) + string("0123456789ABCDEF"[hard[i]&15])
	}
	for name, form := range map[string]string{
		"as it is":                     hard,
		"JSON as Go writes it":         inner,
		"JSON as Python writes it":     `pa\"ss\\w/\u00f6&<+ 42`,
		"JSON as PHP writes it":        `pa\"ss\\w\/\u00F6&<+ 42`,
		"JSON in JSON":                 strings.Trim(string(twice), `"\`),
		"a query":                      url.QueryEscape(hard),
		"a path":                       url.PathEscape(hard),
		"every byte of a URL":          everyByte,
		"base64":                       base,
		"base64 of the other alphabet": base64.URLEncoding.EncodeToString([]byte(hard)),
		"base64 without padding":       base64.RawStdEncoding.EncodeToString([]byte(hard)),
		"base64 in a query":            url.QueryEscape(base),
		"base64 in JSON as PHP":        strings.ReplaceAll(base, "/", `\/`),
	} {
		t.Run(name, func(t *testing.T) {
			got := hardMask(t).Text("before " + form + " after")
			// What is left of base64 is its padding, escaped or not.
			left := strings.NewReplacer("=", "", "%3D", "").Replace(got)
			if left != "before [masked API_KEY] after" {
				t.Errorf("of %q: %q", form, got)
			}
		})
	}
}

// TestASecretWithinSomethingThatIsEncodedIsMasked: wherever it stands there, at most
// the bits of its first and last byte that share a character with its neighbours are
// left, and those are taken too.
func TestASecretWithinSomethingThatIsEncodedIsMasked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := string(rapid.SliceOfN(rapid.ByteRange(1, 255), MinSecret, 40).Draw(t, "secret"))
		if len(strings.TrimSpace(secret)) < len(secret) {
			t.Skip("white space around a value is no part of it")
		}
		before, after := rapid.SliceOf(rapid.Byte()).Draw(t, "before"), rapid.SliceOf(rapid.Byte()).Draw(t, "after")
		m := NewMask([]Secret{{"S", secret}})
		encoded := base64.StdEncoding.EncodeToString([]byte(string(before) + secret + string(after)))
		masked := m.Text(encoded)
		if !strings.Contains(masked, "[masked S]") {
			t.Fatalf("%q is left in %q", secret, masked)
		}
		// Of the characters before the mark none holds a bit of the secret.
		head, _, _ := strings.Cut(masked, "[masked S]")
		if len(head) > len(before)*8/6 {
			t.Fatalf("%q holds bits of %q", head, secret)
		}
	})
}

func TestWhatIsNoSecretStays(t *testing.T) {
	m := hardMask(t)
	for _, text := range []string{"", "pa", `pa"ss\w/ö&<+ 43`, "100% sure", `C:\users\name`, "a+b", `\u00`, "%", `\`} {
		if got := m.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	require.Empty(t, m.Found())
	require.Nil(t, NewMask([]Secret{{"SHORT", "12345"}, {"SPACE", " 12345\n"}}), "too short to be masked")
	var none *Mask
	require.Equal(t, hard, none.Text(hard))
	e := &Evidence{Fault: hard}
	require.Same(t, e, none.Evidence(e))
	require.Same(t, e, NewMask([]Secret{{"OTHER", "something else"}}).Evidence(e), "evidence without a secret is the same one")
}

func TestOfTwoSecretsTheLongerIsMasked(t *testing.T) {
	m := NewMask([]Secret{{"A", "secret"}, {"B", "secret-and-more"}, {"C", "secret"}})
	require.Equal(t, "[masked B], [masked A]", m.Text("secret-and-more, secret"))
	require.Equal(t, []string{"A", "B"}, m.Found())
}

func TestALineOfAKeyIsMaskedByItself(t *testing.T) {
	m := NewMask([]Secret{{"KEY", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\n-----END KEY-----\n"}})
	require.Equal(t, "got [masked KEY], short, -----BEGIN KEY-----", m.Text("got MIIEvQIBADANBgkqhkiG, short, -----BEGIN KEY-----"))
	require.Equal(t, "[masked KEY]", m.Text(`-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\n-----END KEY-----`))
}

func TestASecretThatCameInSeveralReadsIsMasked(t *testing.T) {
	m := NewMask([]Secret{{"T", "topsecret"}})
	read := func(stream, data string) transcript.Event {
		return transcript.Event{Kind: transcript.Received, Stream: stream, Data: transcript.Bytes(data)}
	}
	e := &Evidence{Invocations: []Invocation{{Transcript: transcript.Transcript{Events: []transcript.Event{
		read("stdout", "a topse"), read("stderr", "topsecret"), read("stdout", "c"), read("stdout", "ret b topsecret"), read("stdout", "!"),
	}}}}}
	masked := m.Evidence(e)
	var got []string
	for _, v := range masked.Invocations[0].Transcript.Events {
		got = append(got, v.Stream+" "+string(v.Data))
	}
	want := []string{"stdout a [masked T]", "stderr [masked T]", "stdout ", "stdout  b [masked T]", "stdout !"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, []string{"T"}, masked.Masked)
	require.Equal(t, "a topse", string(e.Invocations[0].Transcript.Events[0].Data), "what it was made of is not changed")
}

// TestNoTextIsForgotten fills every text of evidence and of a run with a secret, so that
// a field that is added to them and not masked is found. What is not masked on purpose
// is listed: words and IDs of ours.
func TestNoTextIsForgotten(t *testing.T) {
	ours := map[string]bool{}
	for _, place := range strings.Fields(`
		Evidence.Case Evidence.CaseDigest Evidence.Kind Evidence.Transport Evidence.Nonce Evidence.Features Evidence.Masked
		Evidence.Steps.Verb Evidence.Steps.Requirement Evidence.Steps.Error.Kind
		Evidence.Invocations.Role Evidence.Invocations.Transcript.By Evidence.Invocations.Transcript.Transport
		Evidence.Invocations.Transcript.Events.Kind Evidence.Invocations.Transcript.Events.Stream
		Evidence.Invocations.Transcript.Events.HTTP.Method Evidence.Invocations.Transcript.Events.HTTP.Proto
		Evidence.Invocations.Transcript.Events.Ended.How Evidence.Invocations.Transcript.Events.Ended.Name
		Run.Schema Run.Verdict Run.Subject.Kinds Run.Subject.Transports Run.Subject.Features Run.Selection.Shard
		Run.Suite.Version Run.Suite.Cases Run.Platform Run.Started Run.Masked
		Run.Requirements.ID Run.Requirements.Level Run.Requirements.Side Run.Requirements.Section Run.Requirements.Text
		Run.Requirements.Verdict Run.Requirements.Cases
		Run.Cases.ID Run.Cases.Transport Run.Cases.Why Run.Cases.Verdict Run.Cases.Evidence
		Run.Cases.Checks.ID Run.Cases.Checks.Requirement Run.Cases.Checks.Readings Run.Cases.Checks.Verdict
		Run.Known.Entries.Case Run.Known.Entries.Transport Run.Known.Entries.Verdict Run.Known.Entries.Requirements
		Run.Known.Entries.Checks Run.Known.Entries.Expires Run.Known.Entries.Failed`) {
		ours[place] = true
	}
	const secret = "topsecret"
	mask := NewMask([]Secret{{"T", secret}})
	evidence, run := &Evidence{}, &Run{}
	fill(reflect.ValueOf(evidence).Elem(), secret)
	fill(reflect.ValueOf(run).Elem(), secret)
	left := map[string]bool{}
	texts(reflect.ValueOf(*mask.Evidence(evidence)), "Evidence", func(place, text string) { left[place] = left[place] || strings.Contains(text, secret) })
	mask.Run(run)
	texts(reflect.ValueOf(*run), "Run", func(place, text string) { left[place] = left[place] || strings.Contains(text, secret) })
	for place, has := range left {
		if has && !ours[place] {
			t.Errorf("%s is not masked", place)
		}
	}
	for place := range ours {
		if _, there := left[place]; !there {
			t.Errorf("%s is listed, and is not there", place)
		}
	}
}

// fill sets every text below a value.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(text))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Int {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item, text)
		v.SetMapIndex(reflect.ValueOf(text), item)
	}
}

// texts visits every text below a value.
func texts(v reflect.Value, place string, visit func(place, text string)) {
	switch v.Kind() {
	case reflect.String:
		visit(place, v.String())
	case reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), place, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				name := place + "." + f.Name
				if f.Anonymous {
					name = place
				}
				texts(v.Field(i), name, visit)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			visit(place, string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			texts(v.Index(i), place, visit)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			texts(k, place, visit)
			texts(v.MapIndex(k), place, visit)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	var secrets []Secret
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		secrets = append(secrets, Secret{name, "ghp_0123456789abcdefghij" + name})
	}
	m := NewMask(secrets)
	text := []byte(strings.Repeat(`{"name":"a","data":"aGVsbG8gaGVsbG8=","url":"http://127.0.0.1:4000/sha256:0123"}`+"\n", 800))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.find(text)
	}
}
