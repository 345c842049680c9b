package result

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestASecretInABodyThatAHandlerReportsIsMasked: the agreement has a body in base64 in
// an object in JSON, which is the data of an Output, in base64.
func TestASecretInABodyThatAHandlerReportsIsMasked(t *testing.T) {
	const secret = "ghp_Zq8vXkJ7wQzR4kXyAbCdEfGhIjKlMnOpQr12"
	m := NewMask([]Secret{{"API_TOKEN", secret}})
	for _, before := range []string{"", "x", "xy", "xyz", "Authorization: Basic bWU6", "name=\"a\" "} {
		for _, after := range []string{"", "!", "!!", "!!!"} {
			body := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
			observed := fmt.Sprintf(`{"entries": [{"name": "a", "body": "%s"}]}`, body)
			line := fmt.Sprintf(`{"name":"conform/observed","data":"%s"}`, base64.StdEncoding.EncodeToString([]byte(observed)))
			masked := m.Text(line)
			require.Contains(t, masked, "[masked API_TOKEN]", "%q before and %q after", before, after)
			head, tail, _ := strings.Cut(masked, "[masked API_TOKEN]")
			// Of its 40 bytes, which take some 71 characters of the line, none is left.
			require.LessOrEqual(t, len(head)+len(tail), len(line)-70, "%q before and %q after", before, after)
			for _, left := range []string{head, tail} {
				require.False(t, strings.Contains(left, "WjJod1"), "the first bytes of it, in base64 of base64: %q", left)
			}
		}
	}
}

// TestASecretIsMaskedHoweverItWasEncoded encodes it in one way after the other.
func TestASecretIsMaskedHoweverItWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-zA-Z0-9"\\/&<>+= %ö😀_-]{6,40}`).Draw(t, "secret")
		if strings.TrimSpace(secret) != secret {
			t.Skip("white space around a value is no part of it")
		}
		if strings.HasSuffix(secret, `\`) || strings.Contains(secret[len(secret)-2:], "%") || len(foldText(secret)) < MinSecret {
			t.Skip("its end may be a part of an escape, or all of it is")
		}
		m := NewMask([]Secret{{"S", secret}})
		text, bases := secret, 0
		escaped := false
		for _, way := range rapid.SliceOfN(rapid.SampledFrom([]string{"json", "ascii", "query", "path", "base64", "url64", "lines"}), 0, 4).Draw(t, "ways") {
			before, after := rapid.StringMatching(`[a-z {]{0,4}`).Draw(t, "before"), rapid.StringMatching(`[ }z]{0,4}`).Draw(t, "after")
			switch way {
			case "json", "ascii":
				quoted, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				if way == "ascii" {
					quoted = []byte(ascii(string(quoted)))
				}
				text, escaped = before+string(quoted)+after, true
			case "query":
				text, escaped = before+url.QueryEscape(text)+after, true
			case "path":
				text, escaped = before+url.PathEscape(text)+after, true
			case "base64", "url64", "lines":
				// Escaped once at most before it is encoded, and that only at first.
				if bases == 2 || escaped {
					continue
				}
				bases++
				switch way {
				case "base64":
					text = base64.StdEncoding.EncodeToString([]byte(before + text + after))
				case "url64":
					text = base64.RawURLEncoding.EncodeToString([]byte(before + text + after))
				case "lines":
					if bases < 2 { // what is in lines is not encoded again
						bases = 2
					}
					text = inLines(base64.StdEncoding.EncodeToString([]byte(before + text + after)))
				}
			}
		}
		if masked := m.Text(text); !strings.Contains(masked, "[masked S]") {
			t.Fatalf("%q is left in %q", secret, masked)
		}
	})
}

// ascii is JSON as Python writes it.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return b.String()
}

// inLines is base64 as the program of that name prints it.
func inLines(text string) string {
	var b strings.Builder
	for len(text) > 76 {
		b.WriteString(text[:76] + "\n")
		text = text[76:]
	}
	return b.String() + text
}

func TestWhatStandsBesideASecretHidesNothing(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{"nine-lives", `C:\nine-lives`, `C:\[masked S]`},
		{"nine-lives", `a\nnine-lives`, `a\n[masked S]`},
		{`nine"lives`, `DOMAIN\\nine\"lives`, `DOMAIN\\n[masked S]`}, // one character is taken for an escape
		{"41abcdef", "100%41abcdef", "100%[masked S]"},
		{`ends-in\`, `"ends-in\\"`, `"[masked S]\"`},
		{`ends-in\`, `ends-in\`, `[masked S]`},
		{`a\\b\\c\\d`, `a\\b\\c\\d`, `[masked S]`},
		{`a\\b\\c\\d`, `a\\\\b\\\\c\\\\d`, `[masked S]`},
		{"100%-mine", "100%25-mine, 100%2525-mine", "[masked S], [masked S]"},
		{"top/secret", `top\/secret, top\\\/secret, top\\\\\\\/secret`, "[masked S], [masked S], [masked S]"},
	} {
		m := NewMask([]Secret{{"S", c.secret}})
		require.Equal(t, c.want, m.Text(c.text), "%q in %q", c.secret, c.text)
	}
}

func TestOfSecretsThatOverlapNoneIsLeft(t *testing.T) {
	m := NewMask([]Secret{{"A", "abcdef"}, {"B", "defghi"}})
	require.Equal(t, "x[masked A][masked B]x", m.Text("xabcdefghix"))
	require.Equal(t, []string{"A", "B"}, m.In("abcdef", "some defghi"))
	require.Empty(t, m.In("abc", "def"))
}

func TestAPartOfASecretIsTold(t *testing.T) {
	m := NewMask([]Secret{{"S", "0123456789abcdefXYZ"}})
	for text, want := range map[string]bool{
		"got 89abc": false, "got 89abcd": true, `"012345": 6 of 19 bytes`: true, "012 345 678 9ab": false,
		"31 32 33 34 35 36  89abcdef": true, "": false, "0": false,
	} {
		require.Equal(t, want, m.HasPart(text, 6), "%q", text)
	}
	require.False(t, m.HasPart("89abcdef", 12))
	words := NewMask([]Secret{{"S", "acme.handler-of-everything"}})
	require.False(t, words.HasPart("the handler says everything", 6), "words that every text has")
	require.True(t, words.HasPart("handler-o", 6))
	require.True(t, NewMask([]Secret{{"S", "kxqzvjwpfmbghtdrls"}}).HasPart("qzvjwpfmbght", 6))
	require.True(t, m.HasPart("MDEyMzQ1Njc4OWFi", 6), "in base64")
	var none *Mask
	require.False(t, none.HasPart("89abcdef", 6))
}

// FuzzFold: each byte of a folded text stands somewhere in the source, behind the one
// before it, and what has no escapes is not changed.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"", "plain", `\u00f6\n\\\"x`, "%41%2541%", "\r\n+\\", `\ud83d\\ude00`, "\\\n\\"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := fold(data)
		last := 0
		for k := range got.text {
			from, to := got.place(k)
			if from < last && k > 0 {
				if before, _ := got.place(k - 1); before != from {
					t.Fatalf("byte %d stands at %d, before %d", k, from, last)
				}
			}
			if from >= to || to > len(data) {
				t.Fatalf("byte %d stands at %d to %d of %d", k, from, to, len(data))
			}
			last = to
		}
		if !bytes.ContainsAny(data, folding) && !bytes.Equal(got.text, data) {
			t.Fatalf("%q became %q", data, got.text)
		}
	})
}
