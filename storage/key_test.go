package storage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNamespacesAreEscapedIntoOneSegment(t *testing.T) {
	for name, want := range map[string]string{
		"team":       "memories/team/",
		"team/ops":   "memories/team%2fops/",
		"Team":       "memories/%54eam/",
		"a.b":        "memories/a%2eb/",
		"é":          "memories/%c3%a9/",
		"e\u0301":    "memories/e%cc%81/",
		"a b%_-9":    "memories/a%20b%25_-9/",
		"\xff\r\x7f": "memories/%ff%0d%7f/",
	} {
		require.Equal(t, want, memoryPrefix(name), "namespace %q", name)
	}
}

func TestEveryNamespaceMakesAValidKeyOfItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, two := rapid.String().Draw(t, "one"), rapid.String().Draw(t, "two")
		for _, name := range []string{one, two} {
			if name == "" {
				continue
			}
			key := versionKey(memoryPrefix(name), 1)
			if err := CheckKey(key); err != nil || strings.Count(key, "/") != 2 {
				t.Fatalf("namespace %q has key %q: %v", name, key, err)
			}
		}
		if back, ok := unescapeSegment(escapeSegment(one)); !ok || back != one {
			t.Fatalf("%q comes back as %q", one, back)
		}
		if one != two && memoryPrefix(one) == memoryPrefix(two) {
			t.Fatalf("%q and %q share a key", one, two)
		}
	})
}

func TestVersionKeys(t *testing.T) {
	prefix := snapshotsPrefix("0123456789abcdef0123456789abcdef")
	key := versionKey(prefix, 12)
	require.Equal(t, "sessions/0123456789abcdef0123456789abcdef/snapshots/00000000000000000012.json", key)
	version, ok := versionOf(prefix, key)
	require.True(t, ok)
	require.EqualValues(t, 12, version)
	for _, other := range []string{
		prefix + "12.json", prefix + "00000000000000000012", prefix + "0000000000000000001x.json",
		prefix + "00000000000000000000.json", prefix + "-0000000000000000012.json", "x/00000000000000000012.json",
	} {
		_, ok := versionOf(prefix, other)
		require.False(t, ok, "key %s", other)
	}
}

func TestSessionIDs(t *testing.T) {
	require.NoError(t, CheckSession("0123456789abcdef0123456789abcdef"))
	for _, id := range []string{
		"", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0", "0123456789ABCDEF0123456789abcdef",
		strings.Repeat("0", 32), "../../../tmp/zz", "../456789abcdef0123456789abcdef..",
	} {
		require.ErrorIs(t, CheckSession(id), ErrInvalidName, "ID %q", id)
	}
}

func TestMemoryNames(t *testing.T) {
	for _, good := range [][2]string{{"a", "b"}, {"a/b/c", "d"}, {"...", "x..y"}, {"é", " "}} {
		require.NoError(t, CheckMemoryName(good[0], good[1]))
	}
	for _, bad := range [][2]string{
		{"", "b"}, {"a", ""}, {"a/", "b"}, {"/a", "b"}, {"a//b", "c"}, {"..", "x"}, {"../..", "x"}, {"a/./b", "x"},
		{"a", ".."}, {"a", "."}, {"a", "b/c"}, {"a\x00", "b"}, {"a", "b\x00"},
	} {
		require.ErrorIs(t, CheckMemoryName(bad[0], bad[1]), ErrInvalidName, "%q", bad)
	}
}
