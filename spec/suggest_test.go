package spec_test

import "testing"

func TestSuggestNamesWhatWasMeant(t *testing.T) {
	s := load(t)
	for mistyped, want := range map[string]string{
		"P3/any-whitespce":    "P3/any-whitespace",
		"p3/No-Bom":           "P3/no-bom",
		"P3.1/any-whitespace": "P3/any-whitespace", // the right slug in the wrong section
		"any-whitespace":      "P3/any-whitespace",
		"P6/wkae":             "P6/wake",
		"K2/txt":              "K2/text",
		"P16/no-output":       "P16/no-output",
		"r28":                 "R28",
	} {
		if got, ok := s.Suggest(mistyped); !ok || got != want {
			t.Errorf("Suggest(%q) = %q, %v; want %q", mistyped, got, ok, want)
		}
	}
}

func TestSuggestIsSilentWhenNothingIsNear(t *testing.T) {
	s := load(t)
	for _, id := range []string{"", "R99", "handler/framing/no-whitespace", "P3/xyzzy-plugh-frotz"} {
		if got, ok := s.Suggest(id); ok || got != "" {
			t.Errorf("Suggest(%q) = %q, %v; want nothing", id, got, ok)
		}
	}
}
