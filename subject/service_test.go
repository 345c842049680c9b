//go:build unix

package subject

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pugmark.dev/conform/process"
)

// service is the test binary as a service on a port that is chosen for it.
func service(mode string, args ...string) ResolvedCommand {
	c := self(mode, append([]string{"{port}"}, args...)...)
	c.URL = "http://127.0.0.1:{port}/h"
	return c
}

func startService(t *testing.T, c ResolvedCommand) *Service {
	t.Helper()
	s, err := StartService(t.Context(), c, ServiceOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { s.Stop(0) })
	return s
}

// answer is who answers at the URL.
func answer(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	http.DefaultClient.CloseIdleConnections()
	return string(text)
}

func TestAServiceAnswersAsSoonAsItIsStarted(t *testing.T) {
	s := startService(t, service("serve"))
	require.Regexp(t, `^http://127\.0\.0\.1:[1-9][0-9]*/h$`, s.URL)
	require.Equal(t, fmt.Sprint("pid ", s.process.PID()), answer(t, s.URL))
	require.NoError(t, s.Stop(long))
	select {
	case <-s.Done():
	default:
		t.Error("it lives on")
	}
	require.Equal(t, "signal 15 (SIGTERM)", s.process.Wait().String())
	require.NoError(t, s.Stop(long), "again")
	requireNoChildren(t)
}

func TestAServiceThatDoesNotStopIsStopped(t *testing.T) {
	s := startService(t, service("serve-on"))
	require.NoError(t, s.Stop(20*time.Millisecond))
	require.Equal(t, "signal 9 (SIGKILL)", s.process.Wait().String())
	requireNoChildren(t)
}

func TestAServiceThatDiesIsAnErrorAtOnce(t *testing.T) {
	started := time.Now()
	_, err := StartService(t.Context(), service("die"), ServiceOptions{Ready: time.Hour})
	require.ErrorIs(t, err, errEnded)
	require.Regexp(t, `^start the service \S+ [0-9]+: the service has ended before it accepted connections: exit status 3; it printed\n    loading\n    the config is missing$`, err.Error())
	require.Less(t, time.Since(started), long)
	requireNoChildren(t)
}

func TestAServiceThatNeverListensIsGivenUp(t *testing.T) {
	_, err := StartService(t.Context(), service("never-listen"), ServiceOptions{Ready: 300 * time.Millisecond})
	require.ErrorContains(t, err, ": it does not accept connections within 300ms")
	requireNoChildren(t)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = StartService(ctx, service("never-listen"), ServiceOptions{})
	require.ErrorIs(t, err, context.Canceled)
	requireNoChildren(t)
}

func TestAServiceWithoutItsProgramNamesIt(t *testing.T) {
	_, err := StartService(t.Context(), ResolvedCommand{Args: []string{"/no/such"}, URL: "http://127.0.0.1:{port}"}, ServiceOptions{})
	require.ErrorIs(t, err, process.ErrNotFound)
	require.ErrorContains(t, err, `start "/no/such"`)
}

func TestALostPortIsChosenAnew(t *testing.T) {
	var taken []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		port, err := strconv.Atoi(r.URL.Query().Get("port"))
		fd := -1
		if err == nil {
			fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		}
		if err == nil {
			t.Cleanup(func() { unix.Close(fd) })
			err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		}
		if err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		taken = append(taken, strconv.Itoa(port))
	}))
	defer thief.Close()
	s := startService(t, service("lose-the-port-once", filepath.Join(t.TempDir(), "lost"), thief.URL))
	require.Len(t, taken, 1)
	require.NotContains(t, s.URL, taken[0])
	require.Equal(t, fmt.Sprint("pid ", s.process.PID()), answer(t, s.URL))
}

func TestAFixedAddressThatIsTakenIsNotTheService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c := self("never-listen")
	c.URL = "http://" + l.Addr().String()
	_, err = StartService(t.Context(), c, ServiceOptions{})
	require.ErrorContains(t, err, "somebody else answers at "+c.URL+" already")
}

func TestAServiceOfTheUsersIsLeftAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	url := "http://" + l.Addr().String() + "/x"
	s, err := StartService(t.Context(), ResolvedCommand{URL: url}, ServiceOptions{})
	require.NoError(t, err)
	require.Equal(t, url, s.URL)
	require.Nil(t, s.Done())
	require.NoError(t, s.Stop(0))

	held, err := process.Reserve()
	require.NoError(t, err)
	defer held.Close()
	_, err = StartService(t.Context(), ResolvedCommand{URL: "http://" + held.Addr.String()}, ServiceOptions{})
	require.ErrorContains(t, err, "the service at http://"+held.Addr.String()+": dial tcp "+held.Addr.String())
	require.ErrorContains(t, err, "is it running?")
}

func TestAServiceEndsWithItsSet(t *testing.T) {
	var set process.Set
	s, err := StartService(t.Context(), service("serve"), ServiceOptions{Set: &set})
	require.NoError(t, err)
	require.Zero(t, set.EndAll(long).Left)
	select {
	case <-s.Done():
	case <-time.After(long):
		t.Error("it lives on")
	}
}
