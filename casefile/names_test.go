package casefile

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// The forms are those of the patterns that describe them best.
func TestNamesHaveTheirForms(t *testing.T) {
	of := func(pattern string) func(string) bool { return regexp.MustCompile(pattern).MatchString }
	for name, form := range map[string]struct {
		got, want func(string) bool
		texts     *rapid.Generator[string]
	}{
		"name":      {isName, of(`^[a-z0-9]+(-[a-z0-9]+)*$`), rapid.StringMatching(`[a-z0-9A_-]{0,6}`)},
		"position":  {isPosition, of(`^[0-9]+(-|$)`), rapid.StringMatching(`[0-9]{0,3}[-a0]{0,2}`)},
		"reference": {isReference, of(`^\{[a-z0-9-]+\}$`), rapid.StringMatching(`[{]{0,2}[a-z-A]{0,3}[}]{0,2}`)},
		"session":   {isSessionID, of(`^[0-9a-f]{32}$`), rapid.StringMatching(`[0-9a-f]{31,33}|[0-9a-gA]{32}`)},
		"beginning": {beginsLikeASentence, of("^[\\p{Lu}`\"0-9]"), rapid.StringMatching("[aA`\"0É é]{0,2}")},
		"two":       {hasTwoSentences, of(`[.!?] +\p{Lu}`), rapid.StringMatching(`[aAÉ.!? ]{0,7}`)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := form.texts.Draw(t, "text")
				if got, want := form.got(text), form.want(text); got != want {
					t.Fatalf("%q: got %v, want %v", text, got, want)
				}
			})
		})
	}
}
