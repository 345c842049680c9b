package runner_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/judge"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/transcript"
)

// misreports is a handler that follows the agreement, and says in the case handler/framing/tabs
// that the body of the entry a was another. With zip it compresses what it says.
func misreports(t *testing.T, body string, zip bool) http.Handler {
	right := fakehandler.ConformHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		again, answer := r.Clone(r.Context()), httptest.NewRecorder()
		again.Body = readCloser{bytes.NewReader(sent)}
		right.ServeHTTP(answer, again)
		for line := range strings.Lines(answer.Body.String()) {
			var record map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &record))
			if record["name"] != "conform/observed" || !strings.Contains(string(sent), "}\t{") {
				fmt.Fprint(w, line)
				continue
			}
			text, err := base64.StdEncoding.DecodeString(record["data"].(string))
			require.NoError(t, err)
			var observed map[string]any
			require.NoError(t, json.Unmarshal(text, &observed))
			for _, entry := range observed["entries"].([]any) {
				if entry := entry.(map[string]any); entry["name"] == "a" {
					entry["body"] = base64.StdEncoding.EncodeToString([]byte(body))
				}
			}
			text, err = json.Marshal(observed)
			require.NoError(t, err)
			if zip {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				_, err := z.Write(text)
				require.NoError(t, err)
				require.NoError(t, z.Close())
				text, record["content-encoding"] = b.Bytes(), "gzip"
			}
			record["data"] = base64.StdEncoding.EncodeToString(text)
			require.NoError(t, json.NewEncoder(w).Encode(record))
		}
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// masked plays the case that it misreports, and returns the one check that failed and
// the folder of evidence.
func masked(t *testing.T, h http.Handler, mask *result.Mask) (result.Case, result.Check, string) {
	t.Helper()
	registry, cases := suite(t)
	subject, folder := served(h, "instructions"), t.TempDir()
	chosen, err := runner.Choose(cases, runner.Choice{Patterns: []string{"handler/framing/tabs"}}, registry, subject)
	require.NoError(t, err)
	results, err := runner.Run(t.Context(), runner.Options{
		Registry: registry, Cases: chosen, All: cases, Subject: subject, Evidence: folder, Mask: mask,
	})
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.Equal(t, result.Fail, results[0].Verdict, results[0].Reason)
	i := slices.IndexFunc(results[0].Checks, func(k result.Check) bool { return k.Verdict == result.Fail })
	require.GreaterOrEqual(t, i, 0)
	return results[0], results[0].Checks[i], folder
}

// noTrace wants no part of a value in any text of a result or file of a folder.
func noTrace(t *testing.T, value string, c result.Case, folder string) {
	t.Helper()
	text, err := json.Marshal(c)
	require.NoError(t, err)
	files := map[string]string{"the result": string(text)}
	require.NoError(t, filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		files[name] = string(data)
		return err
	}))
	require.Greater(t, len(files), 2)
	for i := 0; i+6 <= len(value); i++ {
		part := value[i : i+6]
		dumped := strings.TrimSpace(strings.Join(regroup(hex.EncodeToString([]byte(part))), " "))
		twice := base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(value))))
		for name, data := range files {
			for _, form := range []string{part, dumped, twice[i : i+12]} {
				require.False(t, strings.Contains(data, form), "%s has %q", name, form)
			}
		}
	}
}

func regroup(digits string) (pairs []string) {
	for i := 0; i+2 <= len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return pairs
}

func TestASecretInAReportedBodyIsNowhere(t *testing.T) {
	const secret = "ghp_Zq8vXkJ7wQzR4kXyAbCdEfGhIjKlMnOpQr12"
	c, k, folder := masked(t, misreports(t, secret, false), result.NewMask([]result.Secret{{Name: "API_TOKEN", Value: secret}}))
	noTrace(t, secret, c, folder)
	// What is wrong is told all the same.
	require.Equal(t, "conform/observed, entry 1, body", k.Where)
	require.Equal(t, `body: 40 bytes, "[masked API_TOKEN]"`, k.Got)
	require.Equal(t, `body: 5 bytes, "hello"`, k.Want)
	require.Empty(t, k.Diff)
	e, err := result.ReadEvidence(filepath.Join(folder, filepath.FromSlash(c.Evidence)))
	require.NoError(t, err)
	require.Equal(t, []string{"API_TOKEN"}, e.Masked)
}

// TestASecretThatOnlyTheJudgeSawIsNotTold: the mask does not see through gzip, the judge
// does. Nor is it told by who judges the evidence again.
func TestASecretThatOnlyTheJudgeSawIsNotTold(t *testing.T) {
	const secret = "ghp_Zq8vXkJ7wQzR4kXyAbCdEfGhIjKlMnOpQr12"
	c, k, folder := masked(t, misreports(t, secret, true), result.NewMask([]result.Secret{{Name: "API_TOKEN", Value: secret}}))
	noTrace(t, secret, c, folder)
	require.Equal(t, `body: 40 bytes, "[masked API_TOKEN]"`, k.Got)
	registry, cases := suite(t)
	again, _, err := runner.JudgeStored(filepath.Join(folder, filepath.FromSlash(c.Evidence)), cases, judge.New(registry))
	require.NoError(t, err)
	noTrace(t, secret, again, folder)
}

// TestAPartOfASecretIsNotTold: a text that was cut has no whole value.
func TestAPartOfASecretIsNotTold(t *testing.T) {
	secret := strings.Repeat("Zq8vXkJ7wQzR4kXyAbCdEfGhIjKlMnOpQr12", 30)
	for _, zip := range []bool{false, true} {
		c, _, folder := masked(t, misreports(t, secret, zip), result.NewMask([]result.Secret{{Name: "API_TOKEN", Value: secret}}))
		noTrace(t, secret, c, folder)
	}
}

// TestWhatIsMaskedDoesNotChangeTheFinding: with the name of an Output masked, there is no
// such Output any more, which is not what was wrong.
func TestWhatIsMaskedDoesNotChangeTheFinding(t *testing.T) {
	_, k, _ := masked(t, misreports(t, "", false), result.NewMask([]result.Secret{{Name: "CACHE_KEY", Value: "observe"}}))
	require.Equal(t, "conform/[masked CACHE_KEY]d, entry 1, body", k.Where)
	require.Equal(t, `body: 0 bytes, ""`, k.Got)
	require.Equal(t, `body: 5 bytes, "hello"`, k.Want)
}

// TestThePlaceOfAFindingIsThatOfTheEvidence: a report marks the byte, and masking has
// moved it.
func TestThePlaceOfAFindingIsThatOfTheEvidence(t *testing.T) {
	const secret, mark = "ghp_Zq8v", "[masked API_TOKEN]"
	right := fakehandler.ConformHandler()
	logs := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		again, answer := r.Clone(r.Context()), httptest.NewRecorder()
		again.Body = readCloser{bytes.NewReader(sent)}
		right.ServeHTTP(answer, again)
		if !strings.Contains(string(sent), "}\t{") {
			fmt.Fprint(w, answer.Body)
			return
		}
		fmt.Fprintf(w, `{"name":"%s","content-type":"text/plain","data":""}`+"\nerror: no record\n%s", secret, answer.Body)
	})
	c, k, folder := masked(t, logs, result.NewMask([]result.Secret{{Name: "API_TOKEN", Value: secret}}))
	e, err := result.ReadEvidence(filepath.Join(folder, filepath.FromSlash(c.Evidence)))
	require.NoError(t, err)
	answered, _ := e.Invocations[0].Transcript.Stream(transcript.Answer)
	line := fmt.Sprintf(`{"name":"%s","content-type":"text/plain","data":""}`+"\n", mark)
	require.True(t, strings.HasPrefix(string(answered), line), "%q", answered)
	require.Contains(t, k.Where, fmt.Sprintf("byte %d", len(line)), "%+v", k)
	require.Contains(t, k.Diff, "error: n", "the dump is of it too")
}
