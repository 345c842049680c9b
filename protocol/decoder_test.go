package protocol_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

// readOutputs reads a stream to its end or to its first error.
func readOutputs(stream string) ([]protocol.Record[protocol.Output], error) {
	d := protocol.NewOutputDecoder(strings.NewReader(stream))
	var records []protocol.Record[protocol.Output]
	for {
		rec, err := d.Next()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, rec)
	}
}

func TestRecordsAreSeparatedByAnyWhitespaceOrNone(t *testing.T) {
	for _, between := range []string{"", "\n", "\r", "\t", " ", "\r\n", "\n\n \t\r\n", strings.Repeat(" ", 200_000)} {
		t.Run(fmt.Sprintf("%d bytes %.4q", len(between), between), func(t *testing.T) {
			got, err := readOutputs(between + `{"name":"}{"}` + between + `{"name":"b"}` + between)
			require.NoError(t, err)
			n := int64(len(between))
			want := []protocol.Record[protocol.Output]{
				{Value: protocol.Output{Name: "}{"}, Raw: []byte(`{"name":"}{"}`), Offset: n},
				{Value: protocol.Output{Name: "b"}, Raw: []byte(`{"name":"b"}`), Offset: 2*n + 13},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhitespaceWithinARecordIsKeptInRawOnly(t *testing.T) {
	const raw = "{\n\t\"name\" :\r\n \"a\"\t,\n\"metadata\": {\n} }"
	got, err := readOutputs(raw)
	require.NoError(t, err)
	want := []protocol.Record[protocol.Output]{{Value: protocol.Output{Name: "a"}, Raw: []byte(raw)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestEveryInputFieldIsRead(t *testing.T) {
	d := protocol.NewInputDecoder(strings.NewReader(`{"event":"push","url":"http://127.0.0.1:1/sha256:00","size":9007199254740993,
		"content-type":"text/plain","content-encoding":"gzip","schema-url":"type.googleapis.com/x","name":"n\u00e4\ud83d\ude00😀",
		"metadata":{"k":"v","<&>":"\u0000"},"data":"aGk="}`))
	rec, err := d.Next()
	require.NoError(t, err)
	want := protocol.Input{Event: "push", URL: "http://127.0.0.1:1/sha256:00", Size: 9007199254740993,
		ContentType: "text/plain", ContentEncoding: "gzip", SchemaURL: "type.googleapis.com/x", Name: "nä😀😀",
		Metadata: map[string]string{"k": "v", "<&>": "\x00"}, Data: []byte("hi")}
	if diff := cmp.Diff(want, rec.Value); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	_, err = d.Next()
	require.Equal(t, io.EOF, err)
}

func TestOutputFields(t *testing.T) {
	const session = "0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		name, record string
		want         protocol.Output
	}{
		{"every field", `{"uri":"file:///x","data":"aGk","content-type":"a/b","content-encoding":"zstd","schema-url":"s","name":"n","metadata":{"k":"v"},"fork":true,"session":"` + session + `"}`,
			protocol.Output{URI: "file:///x", Data: []byte("hi"), ContentType: "a/b", ContentEncoding: "zstd", SchemaURL: "s", Name: "n",
				Metadata: map[string]string{"k": "v"}, Fork: true, Session: session}},
		{"no field", `{}`, protocol.Output{}},
		{"null fields are zero (R17)", `{"uri":null,"data":null,"content-type":null,"content-encoding":null,"schema-url":null,"name":"a","metadata":null,"fork":null,"session":null}`,
			protocol.Output{Name: "a"}},
		{"zero values", `{"uri":"","data":"","metadata":{},"fork":false}`, protocol.Output{Data: []byte{}}},
		{"names match exactly", `{"Name":"x","NAME":"y","name ":"z"}`, protocol.Output{}},
		{"an escaped name is the name", `{"n\u0061me":"x"}`, protocol.Output{Name: "x"}},
		{"unknown fields of every type", `{"a":123456789012345678901234567890,"b":-1.5e400,"c":[1,[{}]],"d":{"name":"no"},"e":null,"f":"x","g":true,"size":"of no Output","name":"a"}`,
			protocol.Output{Name: "a"}},
		{"an escaped solidus in base64", `{"data":"\/\/8="}`, protocol.Output{Data: []byte{0xff, 0xff}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readOutputs(test.record)
			require.NoError(t, err)
			require.Len(t, got, 1)
			if diff := cmp.Diff(test.want, got[0].Value); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBothPaddingsOfBase64AreAccepted(t *testing.T) {
	// F24, and the test vectors of RFC 4648 section 10.
	for text, want := range map[string]string{
		"": "", "Zg==": "f", "Zg": "f", "Zm8=": "fo", "Zm8": "fo", "Zm9v": "foo",
		"Zm9vYg==": "foob", "Zm9vYg": "foob", "Zm9vYmE=": "fooba", "Zm9vYmE": "fooba", "Zm9vYmFy": "foobar",
		"++//": "\xfb\xef\xff",
	} {
		got, err := readOutputs(`{"data":"` + text + `"}`)
		require.NoError(t, err, text)
		require.Equal(t, []byte(want), got[0].Value.Data, text)
	}
}

func TestSizeIsAnExactInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"9007199254740993": 9007199254740993, "9223372036854775807": 9223372036854775807,
		"-9223372036854775808": -9223372036854775808, "0": 0, "null": 0,
	} {
		rec, err := protocol.NewInputDecoder(strings.NewReader(`{"size":` + text + `}`)).Next()
		require.NoError(t, err, text)
		require.Equal(t, want, rec.Value.Size, text)
	}
	for _, text := range []string{"1.0", "1e3", "9223372036854775808", `"1"`, "true", "[1]", "{}"} {
		_, err := protocol.NewInputDecoder(strings.NewReader(`{"size":` + text + `}`)).Next()
		var fault *protocol.SyntaxError
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, protocol.KindWrongType, fault.Kind, text)
		require.Equal(t, int64(8), fault.Offset, text)
		require.ErrorContains(t, err, `"size"`)
	}
}

func TestFaultsAreToldApart(t *testing.T) {
	const good = `{"name":"a"}` // 12 bytes
	for _, test := range []struct {
		name, stream string
		kind         protocol.Kind
		offset       int64
		record       int
		start        int64
		excerpt      string
	}{
		{"mark of UTF-8", "\xEF\xBB\xBF" + good, protocol.KindBOM, 0, 1, 0, "\xEF\xBB\xBF" + good},
		{"mark after whitespace", "\n\xEF\xBB\xBF" + good, protocol.KindBOM, 1, 1, 1, "\xEF\xBB\xBF" + good},
		{"mark before the second record", good + "\xEF\xBB\xBF{}", protocol.KindBOM, 12, 2, 12, "\xEF\xBB\xBF{}"},
		{"mark of UTF-16", "\xFF\xFE{\x00}\x00", protocol.KindBOM, 0, 1, 0, "\xFF\xFE{\x00}\x00"},
		{"part of a mark", "\xEF\xBB", protocol.KindForeignContent, 0, 1, 0, "\xEF\xBB"},
		{"another character of three bytes", "ＡＢ", protocol.KindForeignContent, 0, 1, 0, "ＡＢ"},
		{"bytes of no encoding", "\x80" + good, protocol.KindForeignContent, 0, 1, 0, "\x80" + good},
		{"log line first", "starting v1\n" + good, protocol.KindForeignContent, 0, 1, 0, "starting v1\n" + good},
		{"log line after", good + "\nstarting v1\n", protocol.KindForeignContent, 13, 2, 13, "starting v1\n"},
		{"log line like a literal", "no such file\n", protocol.KindForeignContent, 0, 1, 0, "no such file\n"},
		{"log line with a date", "2024-01-02 hi\n", protocol.KindForeignContent, 0, 1, 0, "2024-01-02 hi\n"},
		{"log line in brackets", "[INFO] hi\n", protocol.KindForeignContent, 0, 1, 0, "[INFO] hi\n"},
		{"comma between records", good + "," + good, protocol.KindForeignContent, 12, 2, 12, "," + good},
		{"closing brace too many", good + "}", protocol.KindForeignContent, 12, 2, 12, "}"},
		{"long foreign text is cut", strings.Repeat("x", 100), protocol.KindForeignContent, 0, 1, 0, strings.Repeat("x", 32)},
		{"array of records", "[" + good + "]", protocol.KindNotAnObject, 0, 1, 0, "[" + good + "]"},
		{"array cut short", "[" + good, protocol.KindNotAnObject, 0, 1, 0, "[" + good},
		{"string", `"a"` + good, protocol.KindNotAnObject, 0, 1, 0, `"a"` + good},
		{"number", "12 " + good, protocol.KindNotAnObject, 0, 1, 0, "12 " + good},
		{"number at the end", good + "\n-1.5", protocol.KindNotAnObject, 13, 2, 13, "-1.5"},
		{"null", "null\n", protocol.KindNotAnObject, 0, 1, 0, "null\n"},
		{"true", "true", protocol.KindNotAnObject, 0, 1, 0, "true"},
		{"bad byte in a string", `{"name":"a` + "\xFF" + `"}`, protocol.KindBadUTF8, 10, 1, 0, "\xFF\"}"},
		{"overlong encoding", `{"name":"` + "\xC0\xAF" + `"}`, protocol.KindBadUTF8, 9, 1, 0, "\xC0\xAF\"}"},
		{"surrogate as UTF-8", `{"name":"` + "\xED\xA0\x80" + `"}`, protocol.KindBadUTF8, 9, 1, 0, "\xED\xA0\x80\"}"},
		{"bad byte in a name", `{"` + "\xFF" + `":1}`, protocol.KindBadUTF8, 2, 1, 0, "\xFF\":1}"},
		{"bad byte in an unknown field", `{"x":["` + "\xFF" + `"]}`, protocol.KindBadUTF8, 7, 1, 0, "\xFF\"]}"},
		{"lone high surrogate", `{"name":"\ud800"}`, protocol.KindLoneSurrogate, 9, 1, 0, `\ud800"}`},
		{"lone low surrogate", `{"name":"\uDC00x"}`, protocol.KindLoneSurrogate, 9, 1, 0, `\uDC00x"}`},
		{"two high surrogates", `{"name":"\ud800\ud800"}`, protocol.KindLoneSurrogate, 9, 1, 0, `\ud800\ud800"}`},
		{"bad byte after an escaped quote", `{"name":"\"` + "\xFF" + `"}`, protocol.KindBadUTF8, 11, 1, 0, "\xFF\"}"},
		{"name given twice", `{"name":"a","name":"b"}`, protocol.KindDuplicateName, 12, 1, 0, `"name":"b"}`},
		{"name given twice, once escaped", `{"name":"a","n\u0061me":"b"}`, protocol.KindDuplicateName, 12, 1, 0, `"n\u0061me":"b"}`},
		{"metadata key given twice", `{"metadata":{"k":"a","k":"b"}}`, protocol.KindDuplicateName, 21, 1, 0, `"k":"b"}}`},
		{"unknown name given twice, deep down", `{"x":[{"k":1,"k":2}]}`, protocol.KindDuplicateName, 13, 1, 0, `"k":2}]}`},
		{"null metadata value (R17)", `{"metadata":{"k": null}}`, protocol.KindWrongType, 18, 1, 0, "null}}"},
		{"metadata value of another type", `{"metadata":{"k":1}}`, protocol.KindWrongType, 17, 1, 0, "1}}"},
		{"metadata of another type", `{"metadata":["k"]}`, protocol.KindWrongType, 12, 1, 0, `["k"]}`},
		{"name of another type", good + ` {"name": 5}`, protocol.KindWrongType, 22, 2, 13, "5}"},
		{"fork of another type", `{"fork":"true"}`, protocol.KindWrongType, 8, 1, 0, `"true"}`},
		{"data of another type", `{"data":[1]}`, protocol.KindWrongType, 8, 1, 0, "[1]}"},
		{"URL-safe minus", `{"data":"ab-_"}`, protocol.KindBadBase64, 11, 1, 0, `-_"}`},
		{"URL-safe underscore", `{"data":"ab_="}`, protocol.KindBadBase64, 11, 1, 0, `_="}`},
		{"line break", `{"data":"Zm9v\nYmFy"}`, protocol.KindBadBase64, 8, 1, 0, `"Zm9v\nYmFy"}`},
		{"line break of two", `{"data":"Zm9v\r\nYmFy"}`, protocol.KindBadBase64, 8, 1, 0, `"Zm9v\r\nYmFy"}`},
		{"space", `{"data":"Zm9v YmFy"}`, protocol.KindBadBase64, 13, 1, 0, ` YmFy"}`},
		{"half of the padding", `{"data":"Zg="}`, protocol.KindBadBase64, 12, 1, 0, `"}`},
		{"padding in the middle", `{"data":"Zg==Zg=="}`, protocol.KindBadBase64, 13, 1, 0, `Zg=="}`},
		{"impossible length", `{"data":"Zm9vY"}`, protocol.KindBadBase64, 13, 1, 0, `Y"}`},
		{"no base64 at all", `{"data":"héllo"}`, protocol.KindBadBase64, 10, 1, 0, `éllo"}`},
		{"cut short in a string", good + "\n" + `{"name":"ab`, protocol.KindTruncated, 24, 2, 13, `{"name":"ab`},
		{"cut short in an escape", `{"name":"\ud83d\ude`, protocol.KindTruncated, 19, 1, 0, `{"name":"\ud83d\ude`},
		{"cut short in a character", "{\"name\":\"\xF0\x9F", protocol.KindTruncated, 11, 1, 0, "{\"name\":\"\xF0\x9F"},
		{"cut short before the brace", `{"name":"a" `, protocol.KindTruncated, 12, 1, 0, `{"name":"a" `},
		{"cut short in a number", `{"size":12`, protocol.KindTruncated, 10, 1, 0, `{"size":12`},
		{"cut short, only the last bytes are shown", `{"name":"` + strings.Repeat("x", 50), protocol.KindTruncated, 59, 1, 0, strings.Repeat("x", 32)},
		{"single quotes", `{'name':'a'}`, protocol.KindSyntax, 1, 1, 0, `'name':'a'}`},
		{"trailing comma", `{"name":"a",}`, protocol.KindSyntax, 12, 1, 0, "}"},
		{"comment", `{/**/}`, protocol.KindSyntax, 1, 1, 0, "/**/}"},
		{"raw line break in a string", "{\"data\":\"Zm9v\nYmFy\"}", protocol.KindSyntax, 13, 1, 0, "\nYmFy\"}"},
		{"unknown escape", `{"name":"\x41"}`, protocol.KindSyntax, 9, 1, 0, `\x41"}`},
		{"NaN", `{"size":NaN}`, protocol.KindSyntax, 8, 1, 0, "NaN}"},
		{"mark within a record", "{\xEF\xBB\xBF}", protocol.KindSyntax, 1, 1, 0, "\xEF\xBB\xBF}"},
		{"too deep", strings.Repeat(`{"x":`, 10_001) + "1" + strings.Repeat("}", 10_001), protocol.KindSyntax, 50_000, 1, 0, `{"x":1}}}}}}}}}}}}}}}}}}}}}}}}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			records, err := readOutputs(test.stream)
			var fault *protocol.SyntaxError
			require.ErrorAs(t, err, &fault)
			want := protocol.SyntaxError{Offset: test.offset, Kind: test.kind, Record: test.record,
				Start: test.start, Excerpt: []byte(test.excerpt)}
			if diff := cmp.Diff(want, *fault, cmpopts.IgnoreFields(protocol.SyntaxError{}, "Err")); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
			require.Len(t, records, test.record-1)
			require.ErrorContains(t, err, fmt.Sprintf("byte %d", test.offset))
			require.ErrorContains(t, err, strings.ReplaceAll(fmt.Sprintf("%q", test.excerpt), `\ufeff`, `\xef\xbb\xbf`))
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestMessagesNameTheFault(t *testing.T) {
	for stream, want := range map[string]string{
		"\xEF\xBB\xBF{}":  `record 1: a byte-order mark at byte 0: "\xef\xbb\xbf{}"`,
		"starting v1\n":   `record 1: non-JSON content at byte 0: "starting v1\n"`,
		`{} {"fork":1}`:   `record 2: a value of the wrong type at byte 11: "1}" (field "fork" wants a boolean, got number)`,
		`{"data":"a-b="}`: `record 1: malformed base64 at byte 10: "-b=\"}" (field "data": a character of the URL-safe alphabet (section 3.1))`,
		`{"data":"ab_="}`: `record 1: malformed base64 at byte 11: "_=\"}" (field "data": a character of the URL-safe alphabet (section 3.1))`,
		` {"name":"a`:     `record 1, begun at byte 1, is cut short by the end of the stream at byte 11, after "{\"name\":\"a"`,
	} {
		_, err := readOutputs(stream)
		require.EqualError(t, err, want)
	}
}

// P3/unknown-fields: JSON sets no limit to nesting, so an error says which one is ours.
func TestNestingHasALimitThatTheErrorNames(t *testing.T) {
	arrays := func(n int) string { return `{"x":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	objects := func(n int) string { return strings.Repeat(`{"{x\"":`, n) + "1" + strings.Repeat("}", n) }
	for _, deepest := range []string{arrays(9_999), objects(10_000)} {
		records, err := readOutputs(deepest + `{"name":"a"}`)
		require.NoError(t, err)
		require.Len(t, records, 2)
	}
	for _, deeper := range []string{arrays(10_000), objects(10_001)} {
		_, err := readOutputs(deeper)
		var fault *protocol.SyntaxError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, protocol.KindSyntax, fault.Kind)
		require.ErrorContains(t, err, "nests deeper than 10000 levels")
	}
	_, err := readOutputs(`{"x":` + strings.Repeat("[", 9_000) + "x")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "10000")
}

func TestAFramedRecordWithABadFieldLeavesTheStreamReadable(t *testing.T) {
	d := protocol.NewOutputDecoder(strings.NewReader(`{"fork":1} {"data":"*"}{"name":"c"}`))
	rec, err := d.Next()
	require.ErrorContains(t, err, `"fork"`)
	require.Equal(t, `{"fork":1}`, string(rec.Raw))
	rec, err = d.Next()
	require.ErrorContains(t, err, `"data"`)
	require.Equal(t, int64(11), rec.Offset)
	rec, err = d.Next()
	require.NoError(t, err)
	require.Equal(t, "c", rec.Value.Name)
	_, err = d.Next()
	require.Equal(t, io.EOF, err)
}

func TestOtherErrorsAreFinal(t *testing.T) {
	for _, stream := range []string{`{"a":1,"a":2}{"name":"b"}`, `log{"name":"b"}`, `{]{"name":"b"}`, `[]{"name":"b"}`} {
		d := protocol.NewOutputDecoder(strings.NewReader(stream))
		_, first := d.Next()
		require.Error(t, first)
		_, second := d.Next()
		require.Equal(t, first, second)
	}
}
