package result

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestMaskingTakesLinearTime: a subject can print what it likes, and megabytes of it are
// kept. The limit leaves room for the race detector on a slow machine; a search that
// began anew at each backslash took minutes for a fifth of this.
func TestMaskingTakesLinearTime(t *testing.T) {
	var secrets []Secret
	for i := range 30 {
		secrets = append(secrets, Secret{fmt.Sprintf("V%d", i), fmt.Sprintf("ghp_0123456789abcdefghij/%d+x", i)})
	}
	secrets = append(secrets, Secret{"SAME", strings.Repeat("a", 40)}, Secret{"ESCAPES", `\\\\\\\\\\\\%25%25%25%25"""`})
	m := NewMask(secrets)
	const size = 1 << 20
	for name, unit := range map[string]string{
		"backslashes": `\`, "escaped letters": `\n`, "escaped quotes": `\\\"`, "escapes that break off": `\u00`, "surrogates": `\ud83d`,
		"percent signs": "%", "percent-encoded percent signs": "%25", "percent-encoded backslashes": "%5C", "ampersands": "&",
		"base64": "Z2hwXzAxMjM0", "plus signs": "+", "line breaks": "\n", "begins of a value": "ghp_0123456789abcdefghij/", "a value all over": "a",
		"a value again and again": "ghp_0123456789abcdefghij/7+x ", "spaces": " ", "zeros": "\x00",
	} {
		data := []byte(strings.Repeat(unit, size/len(unit)))
		began := time.Now()
		m.find(data)
		took := time.Since(began)
		t.Logf("%s: %v", name, took)
		if took > 10*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(data))
		}
	}
}
