package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/spec"
)

// secretWords make a variable a secret wherever they stand in its name.
func secretWords() []string {
	return []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "AUTHORIZATION"}
}

// secretEnds make it one as the end of a word of its name: ACCESSKEY, PGPASS.
func secretEnds() []string { return []string{"KEY", "KEYS", "PASS", "PWD", "JWT"} }

// secretParts make it one as a word of its name: AUTH, but not AUTHOR.
func secretParts() []string { return []string{"AUTH", "OAUTH", "PAT", "PRIVATE"} }

// looksSecret reports whether the name of a variable says that its value is a secret.
func looksSecret(name string) bool {
	if name == "PWD" || name == "OLDPWD" { // the working folders
		return false
	}
	for _, w := range secretWords() {
		if strings.Contains(strings.ToUpper(name), w) {
			return true
		}
	}
	return slices.ContainsFunc(nameWords(name), func(word string) bool {
		return slices.Contains(secretParts(), word) ||
			slices.ContainsFunc(secretEnds(), func(end string) bool { return strings.HasSuffix(word, end) })
	})
}

// nameWords is the words of a variable's name in capitals, without the numbers behind
// them: DB_PASS2, awsAccessKeyId, APIKeyFile.
func nameWords(name string) (words []string) {
	var word []rune
	end := func() {
		if w := strings.TrimRightFunc(string(word), unicode.IsDigit); w != "" {
			words = append(words, strings.ToUpper(w))
		}
		word = nil
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case i == 0 || !unicode.IsUpper(r):
		case !unicode.IsUpper(runes[i-1]), i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// isPlainWord reports whether a value is a setting and no secret, whatever the name of
// its variable says.
func isPlainWord(value string) bool {
	return slices.Contains([]string{
		"true", "false", "enabled", "disabled", "default", "required", "optional", "undefined", "nothing", "python",
	}, strings.ToLower(strings.TrimSpace(value)))
}

// publicWord is a word without which a report says nothing, and what it is.
type publicWord struct{ what, word string }

// publicWords is the words that a run of a subject needs to be told: its name, where its
// file is, the IDs of the suite, and the words of the protocol and of the agreements. A
// value that is one, or a part of one, is known to all, and is not masked.
func (s *suite) publicWords(argument, name string) []publicWord {
	words := []publicWord{{"the subject's name", name}, {"what --subject names", argument}}
	if dir, err := filepath.Abs(argument); err == nil {
		words = append(words, publicWord{"what --subject names", dir})
	}
	add := func(what string, all ...string) {
		for _, word := range all {
			words = append(words, publicWord{what, word})
		}
	}
	for _, c := range s.cases {
		add("the ID of a case", c.ID)
	}
	for _, r := range s.registry.Requirements() {
		add("the ID of a requirement", r.ID)
	}
	for _, side := range []spec.Side{spec.SideHandler, spec.SideRuntime} {
		add("a feature", spec.Features(side)...)
		add("a kind of subject", string(side))
	}
	add("a word of the agreements", fakehandler.NameInstructions, fakehandler.NameObserved, fakehandler.NameLoaded,
		fakehandler.NameMemory, fakehandler.NameUnsupported, "pugmark-conform", conformVerb, scriptedVerb, referenceName)
	add("a word of the protocol", protocol.TransportSubprocess, protocol.TypePause, protocol.TypeControl, protocol.EventProtocol,
		protocol.EventMemory, protocol.MemoryPrefix, protocol.MetadataDuration, protocol.CodingIdentity, protocol.DigestPrefix,
		protocol.EnvAgent, protocol.EnvSession, protocol.EnvMetadata, protocol.EnvRPCURL, protocol.EnvTraceParent, protocol.EnvTraceState,
		protocol.QuerySession, protocol.QuerySnapshot, protocol.HeaderMetadata, protocol.RPCURL, "http://127.0.0.1:", "content-type",
		"content-encoding", "schema-url", "metadata", "application/octet-stream", "application/json", "text/plain")
	for _, v := range []result.Verdict{result.NotTestable, result.NotApplicable, result.NotRun, result.HarnessError} {
		add("a verdict", string(v))
	}
	return words
}

// maskWants is what to mask: the variables that flags and a subject file list, beside
// those whose names look secret, and the words that no report can do without.
type maskWants struct {
	environ, flags, listed []string
	public                 []publicWord
}

// secrets is what to mask, and a line for each variable whose name looks secret and
// whose value is public. A listed variable that is not set is an error when it is of
// the command line; a subject file speaks for many machines. One that is empty has
// nothing to mask. One whose value can't be masked is an error.
func (m maskWants) secrets() (all []result.Secret, spared []string, err error) {
	values := map[string]string{}
	for _, entry := range m.environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	listed := slices.Concat(m.flags, m.listed)
	for name, value := range values {
		if !looksSecret(name) || isPlainWord(value) || slices.Contains(listed, name) {
			continue
		}
		if word, ok := m.publicIn(value); ok {
			spared = append(spared, fmt.Sprintf("the value of %s is not masked, though its name looks secret: it is, or is a part of, %s, %s, which reports can't do without",
				name, word.what, word.word))
			continue
		}
		all = append(all, result.Secret{Name: name, Value: value})
	}
	slices.Sort(spared)
	for _, name := range listed {
		value, ok := values[name]
		switch {
		case !ok && slices.Contains(m.flags, name):
			return nil, nil, fmt.Errorf("--mask %s: no variable of this name is set, so there is nothing to mask; correct the name, or set it to nothing", name)
		case strings.TrimSpace(value) == "":
			continue
		case len(strings.TrimSpace(value)) < result.MinSecret:
			return nil, nil, fmt.Errorf("mask %s: its value has less than %d bytes, which stand everywhere by chance; take a longer secret, or don't list it", name, result.MinSecret)
		}
		if word, ok := m.publicIn(value); ok {
			return nil, nil, fmt.Errorf("mask %s: its value is, or is a part of, %s, %s, which reports can't do without and everybody knows; take another value, or don't list it",
				name, word.what, word.word)
		}
		all = append(all, result.Secret{Name: name, Value: value})
	}
	return all, spared, nil
}

// publicIn is the word that would be another if the value was masked, the shortest if it
// is a part of several.
func (m maskWants) publicIn(value string) (publicWord, bool) {
	mask := result.NewMask([]result.Secret{{Name: "value", Value: value}})
	var found []publicWord
	for _, word := range m.public {
		if mask.Text(word.word) != word.word {
			found = append(found, word)
		}
	}
	if len(found) == 0 {
		return publicWord{}, false
	}
	return slices.MinFunc(found, func(a, b publicWord) int { return cmp.Compare(len(a.word), len(b.word)) }), true
}
