package runner_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/result"
	"pugmark.dev/conform/runner"
	"pugmark.dev/conform/spec"
)

// canned is a handler that knows its answers by heart. While it learns, the right
// handler answers, and each answer is put down under what the handler was told. Then
// it reads its instructions as before, looks up what is put down, and says that.
type canned struct {
	key func(instructions) string

	mu      sync.Mutex
	answers map[string][]*httptest.ResponseRecorder
	given   map[string]int
	learned bool
}

// instructions is the body of the entry conform/instructions.
type instructions struct {
	Case string            `json:"case"`
	Do   []json.RawMessage `json:"do"`
	text string
}

// overhear passes requests on until the instructions have come, and after that too
// while the handler learns.
type overhear struct {
	next  http.RoundTripper
	only  bool
	heard *instructions
}

var errKnownByHeart = errors.New("nothing more is asked for")

func (o *overhear) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.only && o.heard != nil {
		return nil, errKnownByHeart
	}
	answer, err := o.next.RoundTrip(r)
	if err != nil || o.heard != nil {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	var told instructions
	if json.Unmarshal(body, &told) == nil && told.Do != nil {
		told.text = string(body)
		o.heard = &told
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, err
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	ear := &overhear{next: transport, only: c.learned}
	right := httptest.NewRecorder()
	fakehandler.Agreement{Servers: ear, Diagnostics: io.Discard}.Handler().ServeHTTP(right, r)
	said := right
	if ear.heard != nil {
		said = c.recall(c.key(*ear.heard), right)
	}
	if said == nil {
		return // told something new, it says nothing
	}
	w.Header().Set("Content-Length", fmt.Sprint(said.Body.Len()))
	w.WriteHeader(said.Code)
	w.Write(said.Body.Bytes())
}

// recall is the answer that is put down under the key, the n-th time the n-th. While
// the handler learns it is put down.
func (c *canned) recall(key string, right *httptest.ResponseRecorder) *httptest.ResponseRecorder {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.learned {
		c.answers[key] = append(c.answers[key], right)
		return right
	}
	known := c.answers[key]
	if len(known) == 0 {
		return nil
	}
	n := c.given[key]
	c.given[key]++
	return known[min(n, len(known)-1)]
}

// instructed is the cases that need instructions, and can be played over HTTP.
func instructed(t *testing.T) (*spec.Spec, []*casefile.Case) {
	t.Helper()
	registry, err := spec.Load()
	require.NoError(t, err)
	all, problems := casefile.Load(spec.Cases(), registry)
	require.Empty(t, problems)
	return registry, slices.DeleteFunc(all, func(c *casefile.Case) bool {
		return c.Handler == nil || !slices.Contains(c.Needs, "instructions") || !c.Supports("http")
	})
}

// isOfForm reports whether a check, by its ID, is of the form in which an answer was
// given and not of what it says: that the invocation came to a good end, that the
// stream keeps a rule of section 3, which an answer known by heart does too, and the
// harness's own `delivered`.
func isOfForm(id string) bool {
	_, id, _ = strings.Cut("/"+id, "/")
	id = strings.TrimPrefix(id, "beside/")
	if n := strings.TrimLeft(id, "0123456789"); n != id {
		id = strings.TrimPrefix(n, "/")
	}
	return id == "exit" || id == "delivered" || strings.HasPrefix(id, "stream/")
}

// TestAnAnswerKnownByHeartPassesNothing has the right answers of one run given in
// another. Nothing that a case compares may be the same in both, however the handler
// finds its answer.
func TestAnAnswerKnownByHeartPassesNothing(t *testing.T) {
	registry, cases := instructed(t)
	require.Greater(t, len(cases), 200)
	features := slices.Sorted(func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, c := range cases {
			for _, need := range c.Needs {
				if !seen[need] && !yield(need) {
					return
				}
				seen[need] = true
			}
		}
	})
	// What passes all the same, by case and check, and why that is right.
	honest := map[string]string{
		"handler/inline/data-and-url fetches":                          "no fetch is wanted, and none is made; what the data holds is another check",
		"handler/inline/data-and-url-of-the-largest-body fetches":      "as above",
		"handler/memory/kept-servers-stay-unasked own-servers":         "its fetch of the instructions goes to its own servers; what the memory holds is another check",
		"handler/stream/waits-for-the-lifecycle-event after-lifecycle": "it waits for the event; what it writes then is another check",
		"handler/stream/same-input-same-outputs same-outputs":          "an answer known by heart is the same each time; what it says is another check",
		"handler/stream/same-outputs-for-same-reads same-outputs":      "as above",
	}
	for name, key := range map[string]func(instructions) string{
		"by the name of the case": func(i instructions) string { return i.Case },
		"by the instructions": func(i instructions) string {
			do, _ := json.Marshal(i.Do)
			return fmt.Sprint(sha256.Sum256(do))
		},
		"by the operations, in the order of the run": func(i instructions) (key string) {
			for _, op := range i.Do {
				var o struct{ Op string }
				json.Unmarshal(op, &o)
				key += o.Op + " "
			}
			return key
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &canned{key: key, answers: map[string][]*httptest.ResponseRecorder{}, given: map[string]int{}}
			run := func(seed int64) []result.Case {
				results, err := runner.Run(t.Context(), runner.Options{
					// Without the baseline, which would stand before all others: it is one of the cases.
					Registry: registry, Cases: cases, Subject: served(h, features...), Transports: []string{"http"},
					Parallel: 1, Seed: seed, // so that the order of two runs is the same
				})
				require.NoError(t, err)
				return results
			}
			for _, r := range run(1) {
				require.Contains(t, []result.Verdict{result.Pass, result.NotApplicable}, r.Verdict, "%s while learning: %s", r.ID, r.Reason)
			}
			h.learned = true
			var passed []string
			for _, r := range run(2) {
				for _, k := range r.Checks {
					if k.Verdict == result.Pass && !isOfForm(k.ID) {
						passed = append(passed, r.ID+" "+k.ID)
					}
				}
				if r.Verdict == result.Pass {
					passed = append(passed, r.ID)
				}
			}
			passed = slices.DeleteFunc(passed, func(s string) bool { return honest[s] != "" })
			if diff := strings.Join(passed, "\n"); diff != "" {
				t.Errorf("checks that an answer known by heart passes (-want +got):\n%s", diff)
			}
		})
	}
}
