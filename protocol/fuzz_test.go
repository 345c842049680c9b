package protocol_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pugmark.dev/conform/protocol"
)

// streamSeeds are streams of the faults that this field has met.
func streamSeeds() []string {
	return []string{
		`{"name":"good"}`, // F1, F6: no LF at the end
		"{\"name\":\"\U0001F600 }{\"}\n{\"event\":\"start\"}\n",                                                                        // F2
		"{\n  \"name\": \"a\",\n  \"metadata\": {\n    \"k\": \"v\"\n  }\n}\n{\t\"name\"\t:\t\"b\"\t}{\"name\":\"c\"}{\"name\":\"d\"}", // F3
		"\xEF\xBB\xBF{\"name\":\"a\"}\n", "\xFF\xFE{\x00", "\xEF\xBB", "{}\xEF\xBB\xBF{}", // F4
		"starting v1\n{\"name\":\"a\"}\n", "{}\n2024-01-02 up\n", "[INFO]", "null", "[{}]", `"x"`, "12{}", "-", "tru", // F5
		"{\"name\":\"\xFF\"}", "{\"\xE2\x82\":1}", `{"name":"\ud800"}`, `{"name":"\ud83d\ude00\uDC00"}`, `{"name":"\ud800\u12`, // F7
		`{"size":9007199254740993,"new":123456789012345678901234567890}`, `{"size":1e3}`, // F8
		`{"metadata":null,"data":null,"fork":null,"name":"a"}`, `{"metadata":{"k":null}}`, // F9
		`{"data":"Zg=="}{"data":"Zg"}{"data":"Zm8="}{"data":"Zm8"}{"data":"Zm9v"}`, // F24
		`{"data":"-_-_"}`, `{"data":"Zm9v\nYmFy"}`, `{"data":"\/\/8="}`, `{"data":"Zg=Zg"}`, `{"data":"é"}`,
		`{"fork":1}{"fork":true,"session":"x"}`, `{"a":1,"\u0061":2}`, `{"x":[{"y":{"z":[1,2.5e3,null]}}]}`,
		`{"name":`, `{"name":nul`, `{]`, `{"a" "b"}`, `{,}`, "{}\n\n\r\t {}", "", " ",
	}
}

func FuzzInputDecoder(f *testing.F) {
	for _, seed := range streamSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		checkStream(t, stream, protocol.NewInputDecoder, protocol.AppendInput)
	})
}

func FuzzOutputDecoder(f *testing.F) {
	for _, seed := range streamSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		checkStream(t, stream, protocol.NewOutputDecoder, protocol.AppendOutput)
	})
}

// item is a record of a stream, or a fault in it without the bytes it shows.
type item[T protocol.Direction] struct {
	Record        protocol.Record[T]
	Kind          protocol.Kind
	Offset, Start int64
	Number        int
}

// readAll reads until the end, or until an error that is final.
func readAll[T protocol.Direction](t *testing.T, d *protocol.Decoder[T]) []item[T] {
	var items []item[T]
	for {
		rec, err := d.Next()
		if errors.Is(err, io.EOF) {
			return items
		}
		next := item[T]{Record: rec}
		if err != nil {
			var fault *protocol.SyntaxError
			if !errors.As(err, &fault) {
				t.Fatalf("an error of another type: %v", err)
			}
			next.Kind, next.Offset, next.Start, next.Number = fault.Kind, fault.Offset, fault.Start, fault.Record
			if err.Error() == "" || len(fault.Excerpt) > 32 {
				t.Fatalf("error %q shows %d bytes", err, len(fault.Excerpt))
			}
		}
		items = append(items, next)
		if next.Kind != "" && next.Kind != protocol.KindWrongType && next.Kind != protocol.KindBadBase64 {
			return items
		}
	}
}

func checkStream[T protocol.Direction](t *testing.T, stream []byte,
	decoder func(io.Reader) *protocol.Decoder[T], encode func([]byte, T) ([]byte, error)) {
	whole := readAll(t, decoder(bytes.NewReader(stream)))
	single := readAll(t, decoder(iotest.OneByteReader(bytes.NewReader(stream))))
	if diff := cmp.Diff(whole, single); diff != "" {
		t.Fatalf("byte by byte (-whole +single):\n%s", diff)
	}
	end := int64(0)
	for i, it := range whole {
		raw, at := it.Record.Raw, it.Record.Offset
		if it.Kind != "" {
			if it.Number != i+1 || it.Start < end || it.Offset < it.Start || it.Offset > int64(len(stream)) {
				t.Fatalf("fault out of place: %+v after byte %d of %d", it, end, len(stream))
			}
			end = at + int64(len(raw)) // Raw is empty unless the record was framed
			continue
		}
		if at < end || !bytes.Equal(raw, stream[at:int(at)+len(raw)]) {
			t.Fatalf("raw %q does not stand at byte %d", raw, at)
		}
		if gap := strings.Trim(string(stream[end:at]), " \t\r\n"); gap != "" {
			t.Fatalf("%q was skipped before byte %d", gap, at)
		}
		end = at + int64(len(raw))
		again, err := decoder(bytes.NewReader(raw)).Next()
		if err != nil {
			t.Fatalf("raw %q: %v", raw, err)
		}
		if diff := cmp.Diff(it.Record.Value, again.Value); diff != "" {
			t.Fatalf("raw read alone (-stream +alone):\n%s", diff)
		}
		encoded, err := encode(nil, it.Record.Value)
		if err != nil {
			t.Fatalf("encoding %+v: %v", it.Record.Value, err)
		}
		back, err := decoder(bytes.NewReader(encoded)).Next()
		if err != nil {
			t.Fatalf("encoded %q: %v", encoded, err)
		}
		// An empty body is omitted (section 3.2), and comes back as none.
		if diff := cmp.Diff(it.Record.Value, back.Value, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("encoded %q (-before +after):\n%s", encoded, diff)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"300ms", "1.5s", "2h30m", "60.00s", "250µs", "250μs", "0s", "-5s", "+5s", "5", "0", "1h 30m",
		"1e3s", ".5s", "", "5S", "5.s", "9223372036854775807ns", "9999999999h", "0.1234567890123456789h", "1ns1us1ms1s1m1h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := protocol.ParseDuration(text)
		if err != nil {
			var fault *protocol.DurationError
			if !errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if d < 0 || strings.Trim(text, "0123456789.nuµμmsh") != "" {
			t.Fatalf("%q gave %v", text, d)
		}
		formatted := protocol.FormatDuration(d)
		if back, err := protocol.ParseDuration(formatted); err != nil || back != d {
			t.Fatalf("%q gave %v, and its text %q gave %v, %v", text, d, formatted, back, err)
		}
	})
}

func FuzzTraceParent(f *testing.F) {
	for _, seed := range []string{traceParent, "ff" + traceParent[2:], traceParent + "-00", strings.ToUpper(traceParent),
		traceParent[:54], "cc" + traceParent[2:] + "-x", "cc" + traceParent[2:] + "x", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := protocol.ParseTraceParent(text)
		if err != nil {
			return
		}
		if p.Version == 0 && p.String() != text {
			t.Fatalf("%q reads as %q", text, p)
		}
		if p.String()[2:] != text[2:55] {
			t.Fatalf("%q reads as %q", text, p)
		}
		if len(text) > 55 && (p.Version == 0 || text[55] != '-') || text[:2] == "ff" {
			t.Fatalf("%q was taken", text)
		}
	})
}
