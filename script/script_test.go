package script

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestEveryStyleIsTheSameRecord(t *testing.T) {
	var f Fields
	f.String("name", "a {}[],:\"é😀")
	f.Strings("metadata", map[string]string{"k": "v"})
	f.Int("size", 9007199254740993)
	want := map[string]any{"name": "a {}[],:\"é😀", "metadata": map[string]any{"k": "v"}, "size": json.Number("9007199254740993")}
	texts := map[string]Style{}
	for _, style := range []Style{Compact, Pretty, Tabs, Carriage, Escaped, Reversed} {
		text := f.Render(style)
		var got map[string]any
		d := json.NewDecoder(bytesReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&got), "style %q: %s", style, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("style %q (-want +got):\n%s", style, diff)
		}
		if other, ok := texts[string(text)]; ok {
			t.Errorf("styles %q and %q are the same bytes", style, other)
		}
		texts[string(text)] = style
	}
}

func TestStylesAreByteExact(t *testing.T) {
	var f Fields
	f.String("name", "é")
	for style, want := range map[Style]string{
		Compact:  `{"name":"é"}`,
		Tabs:     "{\t\"name\"\t:\t\"é\"\t}",
		Carriage: "{\r\"name\"\r:\r\"é\"\r}",
		Pretty:   "{\n  \"name\": \"é\"\n}",
		Escaped:  `{"\u006eame":"\u00e9"}`,
	} {
		if diff := cmp.Diff(want, string(f.Render(style))); diff != "" {
			t.Errorf("style %q (-want +got):\n%s", style, diff)
		}
	}
}

func TestJSONFromYAMLKeepsDigits(t *testing.T) {
	var v struct {
		X JSON `yaml:"x"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(`x: {b: 123456789012345678901234567890, a: [1.50, true, null, "s", 2020-01-01]}`), &v))
	if diff := cmp.Diff(`{"b":123456789012345678901234567890,"a":[1.50,true,null,"s","2020-01-01"]}`, string(v.X)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBodyNeedsExactlyOneForm(t *testing.T) {
	text := "x"
	_, err := Body{}.Plain()
	require.ErrorContains(t, err, "needs text")
	_, err = Body{Text: &text, Base64: &text}.Plain()
	require.ErrorContains(t, err, "text and base64")
}

func bytesReader(b []byte) *bytes.Reader { return bytes.NewReader(b) }
