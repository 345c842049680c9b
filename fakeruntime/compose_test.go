package fakeruntime

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/script"
)

// The digests of "hello", of nothing, and of the instructions below, by sha256sum.
const (
	helloURL = "http://o/sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	emptyURL = "http://o/sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func testRoots() Roots { return Roots{Objects: "http://o/", Memory: "http://m/memories/"} }

func compose(t *testing.T, s Script) Stream {
	t.Helper()
	stream, err := Compose("handler/test", s, testRoots())
	require.NoError(t, err)
	return stream
}

func TestRecordsAreRenderedAsTheFieldsSay(t *testing.T) {
	for name, c := range map[string]struct {
		record Record
		want   string
	}{
		"no fields":     {Record{}, `{}`},
		"lifecycle":     {Record{Event: "start"}, `{"event":"start"}`},
		"memory root":   {Record{Event: "memory"}, `{"event":"memory","url":"http://m/memories/"}`},
		"memory at URL": {Record{Event: "memory", URL: ptr("http://x/")}, `{"event":"memory","url":"http://x/"}`},
		"text by url": {Record{Name: "a", Body: text("hello")},
			`{"url":"` + helloURL + `","size":5,"content-type":"text/plain","name":"a"}`},
		"pushed": {Record{Event: "push", Body: text("hello"), By: "url"},
			`{"event":"push","url":"` + helloURL + `","size":5,"content-type":"text/plain"}`},
		"JSON by data": {Record{Body: &script.Body{JSON: script.JSON(`{"a":1}`)}, By: "data"},
			`{"size":7,"content-type":"application/json","data":"eyJhIjoxfQ=="}`},
		"bytes by both": {Record{Body: &script.Body{Base64: ptr("aGVsbG8=")}, By: "both"},
			`{"url":"` + helloURL + `","size":5,"content-type":"application/octet-stream","data":"aGVsbG8="}`},
		"repeated text": {Record{Body: &script.Body{Repeat: &script.Repeat{Text: "ab", Times: 2}}, By: "data"},
			`{"size":4,"content-type":"text/plain","data":"YWJhYg=="}`},
		"empty body by url":  {Record{Name: "e", Body: text("")}, `{"url":"` + emptyURL + `","content-type":"text/plain","name":"e"}`},
		"empty body by data": {Record{Name: "e", Body: text(""), By: "data"}, `{"content-type":"text/plain","name":"e"}`},
		"chosen fields": {Record{Body: text("hello"), ContentType: ptr("text/markdown"), ContentEncoding: ptr("br"), Size: ptr(int64(9)), URL: ptr("http://x/y")},
			`{"url":"http://x/y","size":9,"content-type":"text/markdown","content-encoding":"br"}`},
		"emptied fields": {Record{Body: text("hello"), ContentType: ptr(""), Size: ptr(int64(0)), URL: ptr("")}, `{}`},
		"big size":       {Record{Size: ptr(int64(9007199254740993))}, `{"size":9007199254740993}`},
		"raw data":       {Record{Body: text("hello"), Data: ptr("aGVs\nbG8")}, `{"url":"` + helloURL + `","size":5,"content-type":"text/plain","data":"aGVs\u000abG8"}`},
		"data alone":     {Record{Body: text("hello"), By: "data", Data: ptr("")}, `{"size":5,"content-type":"text/plain","data":""}`},
		"metadata and schema": {Record{SchemaURL: "type.googleapis.com/x", Metadata: map[string]string{"b": "2", "a": "1"}},
			`{"schema-url":"type.googleapis.com/x","metadata":{"a":"1","b":"2"}}`},
		"extra":           {Record{Name: "a", Extra: map[string]script.JSON{"z": script.JSON(`[1]`), "y": script.JSON(`null`)}}, `{"name":"a","y":null,"z":[1]}`},
		"wrong type":      {Record{Extra: map[string]script.JSON{"name": script.JSON(`7`)}}, `{"name":7}`},
		"filler":          {Record{Name: "a", Filler: 3}, `{"name":"a","x-filler":"xxx"}`},
		"null":            {Record{Event: "push", Name: "a", Null: []string{"metadata", "data"}}, `{"event":"push","name":"a","metadata":null,"data":null}`},
		"null by default": {Record{Body: text("hello"), Null: []string{"content-type"}}, `{"url":"` + helloURL + `","size":5,"content-type":null}`},
		"raw":             {Record{Raw: ptr("\xef\xbb\xbf{}")}, "\xef\xbb\xbf{}"},
	} {
		stream := compose(t, Script{Records: []Record{c.record}})
		if diff := cmp.Diff(c.want+"\n", string(stream.Bytes())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestZerosWritesEveryFieldOfTheProtocol(t *testing.T) {
	s := Script{Framing: script.Framing{Zeros: true}, Records: []Record{
		{Event: "start"}, {Name: "a", Body: text("hello"), By: "both"}, {Null: []string{"metadata"}},
	}}
	want := `{"event":"start","url":"","size":0,"content-type":"","content-encoding":"","schema-url":"","name":"","metadata":{},"data":""}` + "\n" +
		`{"event":"","url":"` + helloURL + `","size":5,"content-type":"text/plain","content-encoding":"","schema-url":"","name":"a","metadata":{},"data":"aGVsbG8="}` + "\n" +
		`{"event":"","url":"","size":0,"content-type":"","content-encoding":"","schema-url":"","name":"","data":"","metadata":null}` + "\n"
	if diff := cmp.Diff(want, string(compose(t, s).Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnpaddedLeavesThePaddingOut(t *testing.T) {
	s := Script{Framing: script.Framing{Unpadded: true}, Records: []Record{{Body: text("hello"), By: "data"}}}
	require.Contains(t, string(compose(t, s).Bytes()), `"data":"aGVsbG8"`)
}

func TestInstructionsAreAnEntryByURL(t *testing.T) {
	s := Script{Records: []Record{{Event: "push", Instructions: []Instruction{
		{Op: "observe"}, {Op: "write", Text: ptr("<é>"), Name: "n", Fork: true}, {Op: "sleep", Seconds: ptr(1.5), Reason: "r"},
	}}}}
	stream := compose(t, s)
	require.Len(t, stream.objects, 1)
	for path, object := range stream.objects {
		require.Equal(t, "conform/instructions", stream.Names[path])
		require.JSONEq(t, `{"case":"handler/test","do":[{"op":"observe"},{"op":"write","text":"<é>","name":"n","fork":true},
			{"op":"sleep","seconds":1.5,"reason":"r"}]}`, string(object.body))
		require.Equal(t, "application/json", object.header.Get("Content-Type"))
		require.Empty(t, object.header.Get("Content-Encoding"))
		want := `{"event":"push","url":"http://o` + path + `","size":` + object.header.Get("Content-Length") + `,"content-type":"application/json","name":"conform/instructions"}` + "\n"
		if diff := cmp.Diff(want, string(stream.Bytes())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNoOperationsAreInstructionsToo(t *testing.T) {
	stream := compose(t, Script{Records: []Record{{Instructions: []Instruction{}}}})
	for _, object := range stream.objects {
		require.JSONEq(t, `{"case":"handler/test","do":[]}`, string(object.body))
	}
	require.Len(t, stream.objects, 1)
}

func TestTheDigestIsThatOfTheStoredBytes(t *testing.T) { // R3
	body := text("hello")
	body.Encoding = "gzip"
	stream := compose(t, Script{Records: []Record{{Name: "a", Body: body}}})
	require.NotContains(t, string(stream.Bytes()), helloURL)
	require.Contains(t, string(stream.Bytes()), `"content-encoding":"gzip"`)
	require.Len(t, stream.objects, 1)
}

func TestFramingIsByteExact(t *testing.T) {
	two := []Record{{Event: "push"}, {Event: "start"}}
	a, b := `{"event":"push"}`, `{"event":"start"}`
	for name, c := range map[string]struct {
		framing script.Framing
		records []Record
		want    []string
	}{
		"default":           {script.Framing{}, two, []string{a + "\n", b + "\n"}},
		"nothing":           {script.Framing{Between: ptr(""), After: ptr("")}, two, []string{a, b}},
		"everything":        {script.Framing{Before: " \t", Between: ptr("\r\n\r\n"), After: ptr("\t")}, two, []string{" \t" + a + "\r\n\r\n", b + "\t"}},
		"no records":        {script.Framing{Before: "\n"}, nil, []string{"\n"}},
		"nothing at all":    {script.Framing{}, nil, nil},
		"chunks":            {script.Framing{Chunk: 20}, two, []string{a + "\n" + b[:3], b[3:] + "\n"}},
		"a chunk that fits": {script.Framing{Chunk: 35}, two, []string{a + "\n" + b + "\n"}},
		"times":             {script.Framing{}, []Record{{Name: "x{n}", Times: 2}}, []string{`{"name":"x1"}` + "\n", `{"name":"x2"}` + "\n"}},
		"no times":          {script.Framing{}, []Record{{Name: "x{n}"}}, []string{`{"name":"x{n}"}` + "\n"}},
		"raw times":         {script.Framing{Between: ptr("")}, []Record{{Raw: ptr("{}"), Times: 3}}, []string{"{}", "{}", "{}\n"}},
		"reversed":          {script.Framing{Style: script.Reversed}, []Record{{Event: "push", Name: "n"}}, []string{`{"name":"n","event":"push"}` + "\n"}},
	} {
		var got []string
		for _, w := range compose(t, Script{Framing: c.framing, Records: c.records}).Writes {
			got = append(got, string(w))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestByteByByteIsOneWritePerByte(t *testing.T) {
	stream := compose(t, Script{Framing: script.Framing{Chunk: 1}, Records: []Record{{Name: "😀"}}})
	require.Len(t, stream.Writes, len(`{"name":"😀"}`)+1)
	for _, w := range stream.Writes {
		require.Len(t, w, 1)
	}
}

func TestEqualBodiesShareAURLAndTheLaterTypeIsServed(t *testing.T) { // R48
	stream := compose(t, Script{Records: []Record{
		{Name: "a", Body: text("hello")}, {Name: "b", Body: text("hello"), ContentType: ptr("text/markdown")},
	}})
	require.Len(t, stream.objects, 1)
	path := strings.TrimPrefix(helloURL, "http://o")
	require.Equal(t, "text/markdown", stream.objects[path].header.Get("Content-Type"))
	require.Equal(t, "b", stream.Names[path])
}

func TestFaultsOfAScriptNameTheRecord(t *testing.T) {
	truncated := script.Answer{Truncate: ptr(6)}
	for want, s := range map[string]Script{
		"record 1: by: a body travels":                 {Records: []Record{{By: "mail", Body: text("x")}}},
		"record 2: by: there is no body":               {Records: []Record{{}, {By: "data"}}},
		"record 1: serve: there is no body":            {Records: []Record{{Serve: script.Answer{Status: 500}}}},
		"record 1: serve: a body that travels by data": {Records: []Record{{Body: text("x"), By: "data", Serve: script.Answer{Status: 500}}}},
		"record 1: raw stands in place":                {Records: []Record{{Raw: ptr(""), Name: "x"}}},
		"record 1: instructions have their own":        {Records: []Record{{Name: "x", Instructions: []Instruction{{Op: "observe"}}}}},
		"record 1: times":                              {Records: []Record{{Times: -1}}},
		"record 1: name is set twice":                  {Records: []Record{{Name: "x", Null: []string{"name"}}}},
		"record 1: url is set twice":                   {Records: []Record{{URL: ptr("x"), Extra: map[string]script.JSON{"url": script.JSON("1")}}}},
		"record 1: null: x is in extra or null":        {Records: []Record{{Null: []string{"x", "x"}}}},
		"record 1: body: a body needs":                 {Records: []Record{{Body: &script.Body{}}}},
		"record 1: serve: truncate: the body has 5":    {Records: []Record{{Body: text("hello"), Serve: truncated}}},
		"record 1: serve: status: 100":                 {Records: []Record{{Body: text("x"), Serve: script.Answer{Status: 100}}}},
		"record 1: serve: missing goes":                {Records: []Record{{Body: text("x"), Serve: script.Answer{Missing: true, Status: 500}}}},
		"record 1: serve: headers":                     {Records: []Record{{Body: text("x"), Serve: script.Answer{Headers: map[string]string{"a": "b\nc"}}}}},
		"record 2: serve: record 1 has the same body":  {Records: []Record{{Body: text("x")}, {Body: text("x"), Serve: script.Answer{Status: 500}}}},
		"memory k: a key is <namespace>/<object-name>": {Memory: map[string]Object{"k": {Body: *text("x")}}},
		`memory a/../k: no URL can carry a key`:        {Memory: map[string]Object{"a/../k": {Body: *text("x")}}},
		"memory a/k: body: a body needs":               {Memory: map[string]Object{"a/k": {}}},
		"chunk: -1 bytes a write":                      {Framing: script.Framing{Chunk: -1}},
	} {
		_, err := Compose("handler/test", s, testRoots())
		require.ErrorContains(t, err, want)
	}
}

func TestEqualBodiesMayShareAnAnswer(t *testing.T) {
	slow := script.Answer{Delay: script.Duration(time.Second)}
	compose(t, Script{Records: []Record{{Body: text("x"), Serve: slow}, {Body: text("x"), Serve: slow}}})
}

func TestABodyByDataIsNotServed(t *testing.T) {
	stream := compose(t, Script{Records: []Record{{Name: "a", Body: text("hello"), By: "data"}}})
	require.Empty(t, stream.objects)
	require.Empty(t, stream.Names)
}
