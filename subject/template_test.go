//go:build unix

package subject

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestTemplatesAreFilled(t *testing.T) {
	for _, test := range []struct {
		name     string
		template Args
		with     filling
		want     []string
	}{
		{"values in their places", Args{"rt", "--store={store}", "{session}", "a{session}b{session}"},
			filling{texts: map[string]string{"store": "/s", "session": "id"}}, []string{"rt", "--store=/s", "id", "aidbid"}},
		{"no value takes the option along", Args{"rt", "--name", "{name}", "{session}"},
			filling{texts: map[string]string{"session": "id"}}, []string{"rt", "id"}},
		{"no value leaves a word before it", Args{"rt", "push", "{name}", "{session}"},
			filling{texts: map[string]string{"session": "id"}}, []string{"rt", "push", "id"}},
		{"no value inside an item leaves the item", Args{"rt", "--name={name}"},
			filling{texts: map[string]string{"name": ""}}, []string{"rt", "--name="}},
		{"no values in a row", Args{"rt", "-a", "{agent}", "{name}", "x"}, filling{}, []string{"rt", "x"}},
		{"a value that looks like a placeholder", Args{"rt", "{name}", "{session}"},
			filling{texts: map[string]string{"name": "{session}", "session": "id"}}, []string{"rt", "{session}", "id"}},
		{"a value with a hyphen is no option", Args{"rt", "{agent}", "{name}"},
			filling{texts: map[string]string{"agent": "-x"}}, []string{"rt", "-x"}},
		{"what is no placeholder", Args{"rt", "{}", "${store}", `{"a":1}`, "{store"},
			filling{texts: map[string]string{"store": "/s"}}, []string{"rt", "{}", "${store}", `{"a":1}`, "{store"}},
		{"handler as a list", Args{"rt", "run", "--", "{handler}"},
			filling{list: []string{"fake", "a b", ""}}, []string{"rt", "run", "--", "fake", "a b", ""}},
		{"no handler", Args{"rt", "run", "--", "{handler}"}, filling{}, []string{"rt", "run"}},
		{"handlers", Args{"rt", "--handler", "{handlers}", "x"},
			filling{repeated: map[string][]string{"handlers": {"a=1", "b=2"}}}, []string{"rt", "--handler", "a=1", "--handler", "b=2", "x"}},
		{"no handlers", Args{"rt", "--handler", "{handlers}", "x"},
			filling{repeated: map[string][]string{"handlers": {}}}, []string{"rt", "x"}},
		{"namespaces without an option", Args{"rt", "in", "{namespaces}"},
			filling{repeated: map[string][]string{"namespaces": {"team", "team/ops"}}}, []string{"rt", "in", "team", "team/ops"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fill(test.template, test.with)); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

func TestNamedHandlersAreShellWords(t *testing.T) {
	command := []string{"python", "my agent.py", "it's", "", "$HOME", "a\nb"}
	got := registered(map[string]HandlerSpec{"b": {Command: []string{"x"}}, "a": {Command: command}})
	want := []string{"a=python 'my agent.py' 'it'\\''s' '' '$HOME' 'a\nb'", "b=x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
	// A shell's opinion.
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+got[0][len("a="):]).Output()
	require.NoError(t, err)
	require.Equal(t, "python\x00my agent.py\x00it's\x00\x00$HOME\x00a\nb\x00", string(out))
}

func TestARequestLosesNothing(t *testing.T) {
	for _, test := range []struct {
		name     string
		template Args
		with     filling
		want     string
	}{
		{"all told", Args{"{session}", "--m={metadata}"}, filling{texts: map[string]string{"session": "a", "metadata": "{}"}}, ""},
		{"no value to lose", Args{"x"}, filling{texts: map[string]string{"agent": ""}}, ""},
		{"metadata", Args{"{session}"}, filling{texts: map[string]string{"session": "a", "metadata": "{}"}}, "metadata"},
		{"the store is a hint", Args{"x"}, filling{texts: map[string]string{"store": "/s"}}, ""},
		{"namespaces are a hint", Args{"x"}, filling{repeated: map[string][]string{"namespaces": {"a"}}}, ""},
		{"default beside named", Args{"-h", "{handlers}"}, filling{list: []string{"x"}, repeated: map[string][]string{"handlers": {"a=x"}}}, "handler"},
		{"named", Args{"{handler}"}, filling{list: []string{"x"}, repeated: map[string][]string{"handlers": {"a=x"}}}, "handlers"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := dropped(test.template, test.with)
			require.Equal(t, test.want, got)
		})
	}
}

func TestOnlyWhatAnInvocationSetsIsTakenFromTheEnvironment(t *testing.T) {
	got := Environment([]string{"PATH=/bin", "PUGMARK_SESSION_ID=x", "PUGMARK_FUTURE=1", "PUGMARK=keep", "TRACEPARENT=00-", "TRACESTATE=a",
		"traceparent=b", "BAGGAGE=c", "TRACEPARENTS=keep", "EMPTY=", "A=b=c", "broken", "=x"})
	want := []string{"PATH=/bin", "PUGMARK=keep", "TRACEPARENTS=keep", "EMPTY=", "A=b=c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestExcerptsAreForPeople(t *testing.T) {
	text := ""
	for range 13 {
		text += "line\n"
	}
	require.Equal(t, "[... 2 lines before ...]\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nline\nred [31m\ufffd", lastLines(text+"\n\nred \x1b[31m\x00\xff \r\n"))
	require.Equal(t, "", lastLines(" \n\n"))
	require.Equal(t, "ab[... 3 bytes more]", cut("ab\u20ac", 4))
}
