//go:build unix

package s3test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/process"
)

const (
	accessKey = "pugmark"
	secretKey = "pugmark-secret"

	// startTime is far beyond the 0.1 s that a start takes; endTime is how long
	// the server may take to stop by itself.
	startTime = time.Minute
	endTime   = 2 * time.Second
	askPause  = 5 * time.Millisecond
	// startTries is how many ports are tried. Another program can take a port
	// between its choice and the server's start.
	startTries = 5
)

// Server is a running S3 server.
type Server struct {
	// Endpoint is the server's URL.
	Endpoint string
	// Folder holds a folder for each bucket, and in it a file for each object.
	Folder string

	mu      sync.Mutex
	buckets int
}

// Start starts a server with no buckets and ends it with the test. A server that
// can't be installed or started fails the test at once.
func Start(t testing.TB) *Server {
	t.Helper()
	path, err := install(t.Context())
	require.NoError(t, err)
	s := &Server{Folder: t.TempDir()}
	for try := 1; ; try++ {
		address := freeAddress(t)
		err := s.start(t, path, address)
		if err == nil {
			s.Endpoint = "http://" + address
			return s
		}
		require.Less(t, try, startTries, "starting an S3 server: %v", err)
	}
}

func (s *Server) start(t testing.TB, path, address string) error {
	// A path that nobody else can answer: the port may be another program's by now.
	health := "/" + strings.ToLower(rand.Text())
	output := new(process.Capture)
	server, err := process.Start(process.Command{
		Args: []string{path, "--port", address, "--access", accessKey, "--secret", secretKey,
			"--health", health, "posix", s.Folder},
		Env:    []string{"HOME=" + s.Folder},
		Dir:    s.Folder,
		Stdout: output,
		Stderr: output,
	})
	if err != nil {
		return err
	}
	t.Cleanup(func() { server.End(endTime) })
	if err := await(t.Context(), "http://"+address+health, server.Done()); err != nil {
		server.End(0)
		return fmt.Errorf("%s: %w\n%s", program, err, output)
	}
	return nil
}

// await asks until the server answers. It says nothing else when it is up.
func await(ctx context.Context, url string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	ticker := time.NewTicker(askPause)
	defer ticker.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-ended:
			return errors.New("it ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("it was not up in time: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// freeAddress returns a loopback address that nobody listened on a moment ago;
// the server takes no listener that is open already.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// Bucket makes a new, empty bucket and returns its name.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	s.buckets++
	name := fmt.Sprintf("bucket-%d", s.buckets)
	s.mu.Unlock()
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, name), 0o777))
	return name
}

// URL makes a new, empty bucket and returns its s3:// URL, which is complete but
// for the credentials of [Server.Env].
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	return URL(s.Bucket(t), s.Endpoint)
}

// URL is the s3:// URL of a bucket at an endpoint.
func URL(bucket, endpoint string) string {
	query := url.Values{"endpoint": {endpoint}, "region": {"us-east-1"}, "path-style": {"true"}}
	return "s3://" + bucket + "?" + query.Encode()
}

// Env is what a program's environment needs for the server's buckets, as
// NAME=value. It also keeps the program from asking any other place for
// credentials.
func (s *Server) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + accessKey,
		"AWS_SECRET_ACCESS_KEY=" + secretKey,
		"AWS_SESSION_TOKEN=",
		"AWS_PROFILE=",
		"AWS_CONFIG_FILE=" + os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Setenv sets [Server.Env] for the test.
func (s *Server) Setenv(t testing.TB) {
	for _, variable := range s.Env() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
}
