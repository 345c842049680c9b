package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// breaks lists what a stream breaks as rule@offset.
func breaks(s *stream) (list []string) {
	for _, v := range s.broken {
		list = append(list, fmt.Sprintf("%s@%d", v.rule, v.offset))
	}
	return list
}

func texts(s *stream) (list []string) {
	for _, r := range s.records {
		list = append(list, string(r.text))
	}
	return list
}

func TestASplitStreamSaysWhatIsWrongAndWhere(t *testing.T) {
	const good = `{"name":"a","data":"aGk="}`
	for _, c := range []struct {
		name, raw string
		want      []string
		records   []string
	}{
		{"right", good + "\n" + good + "\n", nil, []string{good, good}},
		{"empty", "", nil, nil},
		{"white space only", " \t\r\n", nil, nil},
		{"glued", good + good + "\n", []string{"trailing-lf@26"}, []string{good, good}},
		{"no last LF", good, []string{"trailing-lf@26"}, []string{good}},
		{"two LFs", good + "\n\n", []string{"trailing-lf@26"}, []string{good}},
		{"CRLF", good + "\r\n", []string{"trailing-lf@26"}, []string{good}},
		{"white space before", "  " + good + "\n", nil, []string{good}},
		{"pretty", "{\n\t\"name\" : \"a\"\r\n}\n", nil, []string{"{\n\t\"name\" : \"a\"\r\n}"}},
		{"braces in strings", `{"name":"}{\"\\"}` + "\n", nil, []string{`{"name":"}{\"\\"}`}},

		{"mark first", "\xef\xbb\xbf" + good + "\n", []string{"no-bom@0"}, []string{good}},
		{"mark between", good + "\n\xef\xbb\xbf" + good + "\n", []string{"no-bom@27"}, []string{good, good}},
		{"mark in a string is text", "{\"name\":\"\xef\xbb\xbf\"}\n", nil, []string{"{\"name\":\"\xef\xbb\xbf\"}"}},

		{"log line", "starting v1\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"log line behind", good + "\nbye\n", []string{"no-foreign-content@27"}, []string{good}},
		{"log line with a brace", "got {x}\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"log line in braces", "{starting}\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"log line glued", "hello" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"log line that begins with a number", "2026 began\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"log line that begins with an array", "[1] began\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"two log lines count as one rule", "a\nb\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"comma between", good + ",\n" + good + "\n", []string{"no-foreign-content@26", "trailing-lf@26"}, []string{good, good}},
		{"comment", "// hi\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"NUL", "\x00" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},
		{"form feed", good + "\n\f\n", []string{"no-foreign-content@27"}, []string{good}},
		{"blank document", "---\n" + good + "\n", []string{"no-foreign-content@0"}, []string{good}},

		{"array of records", "[" + good + "," + good + "]\n", []string{"single-object@0"}, nil},
		{"array that is cut off", "[" + good + ",", []string{"single-object@0"}, nil},
		{"string", "\"hello\"\n" + good + "\n", []string{"single-object@0"}, []string{good}},
		{"number", "42\n", []string{"single-object@0"}, nil},
		{"null", good + "\nnull\n", []string{"single-object@27"}, []string{good}},
		{"cut off", good + "\n{\"name\":\"b", []string{"single-object@27"}, []string{good}},
		{"only a brace", "{", []string{"single-object@0"}, nil},
		{"broken inside", "{\"name\":\"a\",oops}\n" + good + "\n", []string{"single-object@0"}, []string{good}},
		{"trailing comma", "{\"name\":\"a\",}\n", []string{"single-object@0"}, nil},
		{"raw line feed in a string", "{\"name\":\"a\nb\"}\n", []string{"single-object@0"}, nil},
		{"single quotes", "{'name':'a'}\n", []string{"no-foreign-content@0"}, nil},
		{"NaN", "{\"size\":NaN}\n", []string{"single-object@0"}, nil},
		{"leading zero", "{\"fork\":01}\n", []string{"single-object@0"}, nil},

		{"bad byte", "{\"name\":\"\xff\"}\n", []string{"utf8@9"}, []string{"{\"name\":\"\xff\"}"}},
		{"surrogate in UTF-8", "{\"name\":\"\xed\xa0\x80\"}\n", []string{"utf8@9"}, []string{"{\"name\":\"\xed\xa0\x80\"}"}},
		{"overlong", "{\"name\":\"\xc0\xaf\"}\n", []string{"utf8@9"}, []string{"{\"name\":\"\xc0\xaf\"}"}},
		{"lone surrogate escape is not asserted", `{"name":"\ud800"}` + "\n", nil, []string{`{"name":"\ud800"}`}},
		{"duplicate names are not asserted", `{"name":"a","name":"b"}` + "\n", nil, []string{`{"name":"a","name":"b"}`}},

		{"URL-safe", `{"data":"-_-_"}` + "\n", []string{"standard-alphabet@8"}, []string{`{"data":"-_-_"}`}},
		{"standard letters", `{"data":"+/+/"}` + "\n", nil, []string{`{"data":"+/+/"}`}},
		{"unpadded", `{"data":"aGk"}` + "\n", nil, []string{`{"data":"aGk"}`}},
		{"padding too long", `{"data":"aGk=="}` + "\n", []string{"standard-alphabet@8"}, []string{`{"data":"aGk=="}`}},
		{"one letter over", `{"data":"aGkxa"}` + "\n", []string{"standard-alphabet@8"}, []string{`{"data":"aGkxa"}`}},
		{"no string", `{"data":[1]}` + "\n", []string{"standard-alphabet@8"}, []string{`{"data":[1]}`}},
		{"escaped LF in data", `{"data":"aG\nk="}` + "\n", []string{"no-line-breaks@8"}, []string{`{"data":"aG\nk="}`}},
		{"escaped CR in data", `{"data":"aGk=\u000d"}` + "\n", []string{"no-line-breaks@8"}, []string{`{"data":"aGk=\u000d"}`}},
		{"space in data", `{"data":"aG k="}` + "\n", []string{"no-line-breaks@8"}, []string{`{"data":"aG k="}`}},
		{"both in one text", `{"data":"-_\n-_"}` + "\n", []string{"standard-alphabet@8", "no-line-breaks@8"}, []string{`{"data":"-_\n-_"}`}},
		{"escaped letters are letters", `{"data":"\u0061Gk\u003d"}` + "\n", nil, []string{`{"data":"\u0061Gk\u003d"}`}},

		{"empty string", `{"name":"","data":"aGk="}` + "\n", []string{"omit-empty@8"}, []string{`{"name":"","data":"aGk="}`}},
		{"false", `{"fork":false}` + "\n", []string{"omit-empty@8"}, []string{`{"fork":false}`}},
		{"empty object", `{"metadata":{ }}` + "\n", []string{"omit-empty@12"}, []string{`{"metadata":{ }}`}},
		{"null", `{"data":null}` + "\n", []string{"omit-empty@8"}, []string{`{"data":null}`}},
		{"true is not empty", `{"fork":true}` + "\n", nil, []string{`{"fork":true}`}},
		{"unknown field", `{"x":""}` + "\n", []string{"closed-fields@5"}, []string{`{"x":""}`}},
		{"letter case makes another field", `{"Name":"a"}` + "\n", []string{"closed-fields@8"}, []string{`{"Name":"a"}`}},
		{"an Input's field on an Output", `{"event":"start"}` + "\n", []string{"closed-fields@9"}, []string{`{"event":"start"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := split([]byte(c.raw), outputs, false)
			if diff := cmp.Diff(c.want, breaks(s)); diff != "" {
				t.Errorf("broken rules (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.records, texts(s)); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInputsHaveTheirOwnFieldsAndEvents(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      []string
	}{
		{"right", "{\"event\":\"memory\",\"url\":\"http://h:1/memories/\"}\n{\"name\":\"a\",\"size\":2,\"url\":\"u\"}\n{\"event\":\"start\"}\n", nil},
		{"bare lifecycle event", "{}\n", nil},
		{"empty event written out at the end", "{\"event\":\"\"}\n", nil},
		{"empty event written out before", "{\"event\":\"\",\"name\":\"a\"}\n{}\n", []string{"omit-empty@9"}},
		{"the literal text empty", "{\"event\":\"empty\"}\n", []string{"closed-events@9"}},
		{"protocol", "{\"event\":\"protocol\"}\n", []string{"closed-events@9"}},
		{"event that is no string", "{\"event\":1}\n", []string{"closed-events@9"}},
		{"an Output's field", "{\"fork\":true}\n", []string{"closed-fields@8"}},
		{"size zero", "{\"size\":0,\"name\":\"a\"}\n{}\n", []string{"omit-empty@8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, breaks(split([]byte(c.raw), inputs, false))); diff != "" {
				t.Errorf("broken rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForeignTextIsQuoted(t *testing.T) {
	s := split([]byte("starting v1\n{\"name\":\"a\"}\n"), outputs, false)
	v, ok := s.find(ruleForeign)
	if !ok {
		t.Fatal("no violation")
	}
	if want := `non-JSON on the stream: "starting v1"`; v.got != want {
		t.Errorf("got %q, want %q", v.got, want)
	}
}

func TestRepeatedViolationsAreCounted(t *testing.T) {
	v, _ := split([]byte("a\nb\nc\n"), outputs, false).find(ruleForeign)
	if v.offset != 0 || v.more != 2 {
		t.Errorf("at %d and %d more, want 0 and 2", v.offset, v.more)
	}
}

func TestAnOpenStreamMayEndInTheMiddle(t *testing.T) {
	for _, raw := range []string{"{\"name\":\"a", "{\"name\":\"\xf0\x9f", "{"} {
		if got := breaks(split([]byte(raw), outputs, true)); got != nil {
			t.Errorf("%q: %v", raw, got)
		}
	}
	if got := breaks(split([]byte("{\"name\":\"\xff"), outputs, true)); len(got) != 1 {
		t.Errorf("a byte that no further byte can make good passes: %v", got)
	}
}

func TestNumbersAreExact(t *testing.T) {
	for _, c := range []struct {
		raw  string
		n    int64
		want bool
	}{
		{"9007199254740993", 9007199254740993, true},
		{"9007199254740992", 9007199254740993, false},
		{"9007199254740993.0", 9007199254740993, true},
		{"9.007199254740993e15", 9007199254740993, true},
		{"1e999999999", 1, false},
		{"\"5\"", 5, false},
		{"-0", 0, true},
	} {
		if got := isInt(c.raw, c.n); got != c.want {
			t.Errorf("%s is %d: %v, want %v", c.raw, c.n, got, c.want)
		}
	}
	if sameJSON([]byte(`{"a":9007199254740993}`), []byte(`{"a":9007199254740992}`)) {
		t.Error("two numbers that differ past 53 bits are the same")
	}
	if !sameJSON([]byte(`{"a":[1.50],"b":"é"}`), []byte(`{ "b":"\u00e9", "a":[15e-1] }`)) {
		t.Error("the same value in another layout differs")
	}
}

func TestDataIsReadAsFarAsItCanBe(t *testing.T) {
	for _, text := range []string{"+/v7/w==", "+/v7/w", "-_v7_w==", "+/v7\n/w==", " +/v7/w =="} {
		got, _ := decodeData(text)
		if diff := cmp.Diff([]byte{0xfb, 0xfb, 0xfb, 0xff}, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestDeepNestingIsRead(t *testing.T) {
	const depth = 1 << 20
	raw := `{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}\n"
	if s := split([]byte(raw), outputs, false); len(s.records) != 1 {
		t.Errorf("%d records, want 1", len(s.records))
	}
}

// FuzzSplit holds the splitter to what must be true of any bytes: it ends, records
// are in order and do not overlap, and what stands between them is white space
// unless a rule of the framing is broken.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "{\"name\":\"a\"}\n{}", "\xef\xbb\xbf{}", "x{}", "[{}]", "{\"a\":{\"b\":[1,2.5e3,null]}}", "{\"data\":\"-_\\n\"}",
		"{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\\ud83d\\u0041\"}", "{\"a\":\"\\ud83d", "{\"a\":1}2\"", "[1", "tru", "{\"metadata\":{\"k\":1}}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, open bool) {
		for _, dir := range []direction{outputs, inputs} {
			s := split(raw, dir, open)
			end, foreign := 0, false
			for i := range s.records {
				r := &s.records[i]
				if r.offset < end || string(raw[r.offset:r.offset+len(r.text)]) != string(r.text) {
					t.Fatalf("record %d at %d does not stand there", r.number, r.offset)
				}
				foreign = foreign || strings.Trim(string(raw[end:r.offset]), " \t\r\n") != ""
				end = r.offset + len(r.text)
				for _, f := range r.fields {
					if string(raw[f.offset:f.offset+len(f.raw)]) != string(f.raw) {
						t.Fatalf("field %q is not at %d", f.name, f.offset)
					}
				}
				r.strings("metadata")
				r.data()
				if s.recordAt(r.offset) != r.number {
					t.Fatalf("byte %d is not in record %d", r.offset, r.number)
				}
			}
			foreign = foreign || !open && strings.Trim(string(raw[end:]), " \t\r\n") != ""
			if foreign && !s.unreadable {
				t.Fatalf("foreign bytes, and nothing broken: %q", raw)
			}
			for _, v := range s.broken {
				if v.offset < 0 || v.offset > len(raw) {
					t.Fatalf("%s at %d of %d", v.rule, v.offset, len(raw))
				}
				s.finding(v, "stdout", func(p string) string { return p })
			}
			s.canonical()
			s.spread()
		}
	})
}
