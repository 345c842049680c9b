package casefile

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/spec"
)

func registry(t testing.TB) *spec.Spec {
	t.Helper()
	s, err := spec.Load()
	require.NoError(t, err)
	return s
}

func TestValidCasesLoad(t *testing.T) {
	cases, problems := Load(os.DirFS("testdata/valid"), registry(t))
	for _, p := range problems {
		t.Error(p)
	}
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{
		"handler/framing/byte-order-mark",
		"handler/framing/every-key",
		"handler/framing/merged-base",
		"handler/framing/no-whitespace",
		"handler/lifecycle/held-answer", "handler/lifecycle/in-flight",
		"handler/lifecycle/silent-with-control",
		"runtime/forks/child-after-next-run",
		"runtime/framing/every-key",
		"runtime/memory/every-verb",
	}, ids); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
}

// Each invalid case says in its comments what is wrong with it and where:
// "# want: LINE:COLUMN: message". A file that can't say so has a .want beside it.
func TestInvalidCasesAreRefusedWithAllTheirProblems(t *testing.T) {
	fsys := os.DirFS("testdata/invalid")
	s := registry(t)
	files := 0
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.IsDir() || path.Ext(name) == ".want" {
			return nil
		}
		files++
		t.Run(name, func(t *testing.T) {
			c, problems := LoadFile(fsys, name, s)
			if c != nil {
				t.Error("the case was loaded")
			}
			var got []string
			for _, p := range problems {
				if p.File != name {
					t.Errorf("file %q in a problem of %q", p.File, name)
				}
				got = append(got, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message))
			}
			if diff := cmp.Diff(wanted(t, fsys, name), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
		return nil
	}))
	require.Greater(t, files, 50)
}

func wanted(t *testing.T, fsys fs.FS, name string) []string {
	t.Helper()
	if data, err := fs.ReadFile(fsys, name+".want"); err == nil {
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	data, err := fs.ReadFile(fsys, name)
	require.NoError(t, err)
	var want []string
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		if text, ok := strings.CutPrefix(scan.Text(), "# want: "); ok {
			want = append(want, text)
		}
	}
	require.NotEmpty(t, want, "%s does not say what is wrong with it", name)
	return want
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

const anyCase = "{why: A runtime fails., covers: [P16/failure], expect: {run: failure}}"

func TestLoadIsSortedAndComplainsOfEverything(t *testing.T) {
	cases, problems := Loader{Registry: registry(t), Root: "spec/cases"}.Load(mapFS(map[string]string{
		"runtime/b/two.yaml":    anyCase,
		"runtime/b-a/one.yaml":  anyCase,
		"runtime/b/one.yaml":    anyCase,
		"runtime/b/twice.yaml":  anyCase,
		"runtime/b/twice.txtar": "# why: A story.\n",
		"runtime/b/README.md":   "About.",
		"README.md":             "About.",
		"runtime/b/three.yml":   anyCase,
		"runtme/b/four.yaml":    anyCase,
	}))
	var ids []string
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]string{"runtime/b-a/one", "runtime/b/one", "runtime/b/two"}, ids); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{
		"spec/cases/runtime/b/three.yml:1:1: three.yml is no case: their files end in .yaml or .txtar",
		"spec/cases/runtime/b/twice.txtar:1:1: the key `covers` is missing",
		"spec/cases/runtime/b/twice.yaml:1:1: the case runtime/b/twice is there twice, first as spec/cases/runtime/b/twice.txtar",
		"spec/cases/runtme:1:1: the folder runtme holds no cases: want handler or runtime",
	}, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestEveryBuiltInCaseLoads(t *testing.T) {
	cases, problems := Loader{Registry: registry(t), Root: "spec/cases"}.Load(spec.Cases())
	for _, p := range problems {
		t.Error(p)
	}
	require.NotEmpty(t, cases)
}

func TestCaseHoldsWhatItsFileSays(t *testing.T) {
	cases, problems := Loader{Registry: registry(t), Root: "x"}.Load(os.DirFS("testdata/valid"))
	require.Empty(t, problems)
	byID := map[string]*Case{}
	for _, c := range cases {
		byID[c.ID] = c
	}
	text := func(s string) *string { return &s }
	whole := func(n int64) *int64 { return &n }

	got := byID["handler/framing/every-key"]
	require.NotNil(t, got.Handler)
	if diff := cmp.Diff([]string{"P3.1/no-line-breaks", "P3/any-whitespace"}, got.Covers); diff != "" {
		t.Errorf("covers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"R28"}, got.Readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("x/handler/framing/every-key.yaml", got.File); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if got.LimitOrDefault() != 30*time.Second || got.Supports("rpc") || !got.Supports("subprocess") {
		t.Errorf("limit %s, transports %v", got.LimitOrDefault(), got.Transports)
	}
	wantIdentity := Identity{
		Agent: text(""), Session: "0123456789abcdef0123456789abcdef", Snapshot: whole(7), Metadata: map[string]string{"k": "v"},
	}
	if diff := cmp.Diff(wantIdentity, got.Handler.Identity); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	record := got.Handler.Input.Records[1]
	if diff := cmp.Diff(`{"a":[1,null,2.50,"2020-01-01"]}`, string(record.Body.JSON)); diff != "" {
		t.Errorf("JSON of a body (-want +got):\n%s", diff)
	}
	if *record.Size != 9007199254740993 || record.Times != 3 || record.By != "both" || *got.Handler.Input.Between != "\t" {
		t.Errorf("record %+v", record)
	}

	merged := byID["handler/framing/merged-base"].Handler.Expect
	require.Len(t, merged, 2)
	want := HandlerExpect{Requirement: "P3/unknown-fields", Exit: "any", Observed: &Observed{Entries: &[]EntryMatch{}}}
	if diff := cmp.Diff(want, merged[1]); diff != "" {
		t.Errorf("merged block (-want +got):\n%s", diff)
	}

	single := byID["handler/framing/no-whitespace"]
	if diff := cmp.Diff([]HandlerExpect{{
		Exit:     "0",
		Observed: &Observed{Entries: &[]EntryMatch{{Name: text("a"), Body: &script.Body{Text: text("hello")}}}},
	}}, single.Handler.Expect); diff != "" {
		t.Errorf("single block (-want +got):\n%s", diff)
	}
	if single.LimitOrDefault() != 10*time.Second || single.Requirement("") != "P3/any-whitespace" || single.Handler.Played() != 1 {
		t.Errorf("defaults of %+v", single)
	}

	story := byID["runtime/memory/every-verb"].Story
	require.NotNil(t, story)
	if first, _, _ := strings.Cut(story.Script, "\n"); first != "" || story.ScriptLine != 6 {
		t.Errorf("the script begins with %q on line %d", first, story.ScriptLine)
	}
	if diff := cmp.Diff(map[string][]RuntimeExpect{
		"routed.yaml":   {{Session: "one", Log: &[]EntryMatch{{Name: text("a")}, {Name: text("a")}}}},
		"replaced.yaml": {{Run: "failure", Session: "one"}, {Requirement: "P8.4/routed", Session: "one", Version: whole(3)}},
	}, story.Expects); diff != "" {
		t.Errorf("expectations (-want +got):\n%s", diff)
	}
	if len(story.Files) != 7 || string(story.Files["entry.yaml"]) != "{name: a, body: {text: it's}, times: 2}\n" {
		t.Errorf("files %q", story.Files)
	}
}

func TestFilesOfAStoryAreReadAsTheLintReadsThem(t *testing.T) {
	turns, err := ParseScript("s.yaml", []byte("- read: all\n- exit: 1\n"))
	require.NoError(t, err)
	one := 1
	if diff := cmp.Diff([][]fakehandler.Op{{{Read: "all"}, {Exit: &one}}}, turns); diff != "" {
		t.Errorf("one invocation (-want +got):\n%s", diff)
	}
	turns, err = ParseScript("s.yaml", []byte("- [read: 2]\n- [hang: true]\n"))
	require.NoError(t, err)
	if diff := cmp.Diff([][]fakehandler.Op{{{Read: "2"}}, {{Hang: true}}}, turns); diff != "" {
		t.Errorf("two invocations (-want +got):\n%s", diff)
	}
	push, err := ParsePush("p.yaml", []byte("{name: a, body: {text: b}}"))
	require.NoError(t, err)
	b := "b"
	if diff := cmp.Diff(Push{Name: "a", Body: script.Body{Text: &b}}, push); diff != "" {
		t.Errorf("push (-want +got):\n%s", diff)
	}
	_, err = ParseStart("m.yaml", []byte("agent: a\nhandlr: b\n"))
	require.EqualError(t, err, "m.yaml:2:1: unknown key `handlr`, did you mean `handler`?")
	var p Problem
	require.ErrorAs(t, err, &p)
}

func FuzzLoad(f *testing.F) {
	for _, root := range []string{"testdata/valid", "testdata/invalid"} {
		fsys := os.DirFS(root)
		err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(fsys, name)
			f.Add(path.Ext(name) == ".txtar", strings.HasPrefix(name, "handler"), data)
			return err
		})
		require.NoError(f, err)
	}
	s := registry(f)
	f.Fuzz(func(t *testing.T, story, handler bool, data []byte) {
		name := "runtime/a/b.yaml"
		switch {
		case story:
			name = "runtime/a/b.txtar"
		case handler:
			name = "handler/a/b.yaml"
		}
		c, problems := LoadFile(fstest.MapFS{name: {Data: data}}, name, s)
		if (c == nil) != (len(problems) > 0) {
			t.Errorf("case %v with problems %v", c, problems)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || p.Line > 2+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r")) {
				t.Errorf("a problem without a place: %v", p)
			}
		}
	})
}

func TestScaffoldLoadsOnceItsWhyIsWritten(t *testing.T) {
	for name, text := range map[string][]byte{
		"handler/area/new-case.yaml":  Scaffold(KindHandler, "P4.2/empty-session"),
		"runtime/area/new-case.yaml":  Scaffold(KindRuntime, "P5.2/stream-order"),
		"runtime/area/new-case.txtar": ScaffoldStory("P5.2/stream-order"),
	} {
		_, problems := LoadFile(mapFS(map[string]string{name: string(text)}), name, registry(t))
		if len(problems) != 1 || !strings.Contains(problems[0].Message, "still what new-case wrote") {
			t.Errorf("%s, as it is: want one problem, its why; got %v", name, problems)
		}
		written := strings.Replace(string(text), "Section N says", "Section 5.2 says", 1)
		c, problems := LoadFile(mapFS(map[string]string{name: written}), name, registry(t))
		for _, p := range problems {
			t.Error(p)
		}
		if c == nil {
			continue
		}
		if diff := cmp.Diff(1, len(c.Covers)); diff != "" {
			t.Errorf("%s covers (-want +got):\n%s", name, diff)
		}
	}
	if got := Scaffold("both", "P3/utf8"); got != nil {
		t.Errorf("a case of no kind: %s", got)
	}
}
