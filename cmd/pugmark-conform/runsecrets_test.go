package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/result"
)

func TestNamesThatLookSecret(t *testing.T) {
	for _, name := range []string{
		"API_TOKEN", "GITHUB_TOKEN", "NPM_TOKEN_2", "CLIENT_SECRET", "DB_PASSWORD", "dbPassword", "APIKEYS", "AWS_ACCESS_KEY_ID",
		"DB_PASS", "DB_PASS2", "MYSQL_PWD", "PGPASS", "CI_JOB_JWT", "CI_JOB_JWT_V2", "ACCESSKEY", "SSHKEY", "SIGNING_KEYS", "awsAccessKeyId",
		"APIKeyFile", "apiKey1", "deploy.key", "NPM_AUTH", "GITHUB_PAT", "PRIVATE", "OAUTH2", "PASS", "PREVIOUS_PWD",
	} {
		require.True(t, looksSecret(name), name)
	}
	for _, name := range []string{
		"PATH", "HOME", "PWD", "OLDPWD", "AUTHOR", "GIT_AUTHOR_NAME", "KEYBOARD", "PASSENGER", "COMPASSES", "PATIENT", "PRIVATELY", "LANG", "_", "",
		"XDG_CACHE_HOME", "keyboardLayout",
	} {
		require.False(t, looksSecret(name), name)
	}
}

// TestAWordThatReportsNeedIsNoSecret: what is masked is masked everywhere, IDs and names
// too, so that a report would say nothing.
func TestAWordThatReportsNeedIsNoSecret(t *testing.T) {
	s, err := (&app{}).loadSuite("")
	require.NoError(t, err)
	words := s.publicWords("work/sdk.yaml", "my-sdk")
	secrets := func(flags, listed []string, environ ...string) (names, spared []string, err error) {
		all, spared, err := maskWants{environ, flags, listed, words}.secrets()
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names, spared, err
	}
	for _, value := range []string{
		"my-sdk", "observe", "handler/framing", "conform/observed", "P3/any-whitespace", "subprocess", "not-testable", "instructions",
		"application/vnd.pugmark", "content-type", "work/sdk.yaml", "duration", "PUGMARK_SESSION",
	} {
		names, spared, err := secrets(nil, nil, "SONAR_PROJECT_KEY="+value, "OTHER="+value)
		require.NoError(t, err, value)
		require.Empty(t, names, value)
		require.Len(t, spared, 1, value)
		require.Contains(t, spared[0], "SONAR_PROJECT_KEY")
		for _, listed := range []bool{true, false} {
			flags, file := []string{"SONAR_PROJECT_KEY"}, []string(nil)
			if !listed {
				flags, file = nil, flags
			}
			_, _, err = secrets(flags, file, "SONAR_PROJECT_KEY="+value)
			require.ErrorContains(t, err, "mask SONAR_PROJECT_KEY: its value is, or is a part of, ", value)
		}
	}
	// What only has such a word in it is one.
	names, spared, err := secrets(nil, nil, "API_KEY=handler/framing/tabs-and-more", "CACHE_KEY=observed!", "DEBUG_KEY=true")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"API_KEY", "CACHE_KEY"}, names)
	require.Empty(t, spared)
	_, spared, err = secrets(nil, nil, "SONAR_PROJECT_KEY=my-sdk")
	require.NoError(t, err)
	want := []string{"the value of SONAR_PROJECT_KEY is not masked, though its name looks secret: it is, or is a part of, the subject's name, my-sdk, which reports can't do without"}
	if diff := cmp.Diff(want, spared); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.GreaterOrEqual(t, len("my-sdk"), result.MinSecret, "it would be masked else")
}
