package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/dirbucket"
)

const benchSession = "0123456789abcdef0123456789abcdef"

// entriesEach is how many entries a snapshot of a made log has.
const entriesEach = 100

// replay compares logs of two lengths, ten to one.
func (b *bench) replay(ctx context.Context) error {
	ref, err := b.program(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
	}))
	defer server.Close()
	counts := []int{b.entries / 10, b.entries}
	handlers := map[string][]string{
		"subprocess": {"--", self, childVerb, "drain"},
		"http":       {"--url", server.URL},
	}
	for _, count := range counts {
		if err := b.makeLog(ctx, count); err != nil {
			return err
		}
	}
	for _, transport := range []string{"subprocess", "http"} {
		var peaks []peak
		for _, count := range counts {
			command := append([]string{ref, "-b", b.logFolder(count), "run", "--once", "--session", benchSession}, handlers[transport]...)
			p, err := watch(ctx, command...)
			if err != nil {
				return err
			}
			b.line("%-10s %7d entries: %7.0f ms, %6.0f entries/ms, %6.1f MiB resident", transport, count,
				milliseconds(p.took), float64(count)/milliseconds(p.took), mebibytes(p.memory))
			peaks = append(peaks, p)
		}
		b.limited(transport+": memory, ten times the entries : once", float64(peaks[1].memory)/float64(peaks[0].memory), 1.25, "x")
		b.line("%-52s %8.0f bytes", transport+": memory for one more entry",
			float64(peaks[1].memory-peaks[0].memory)/float64(counts[1]-counts[0]))
	}
	return nil
}

func (b *bench) logFolder(count int) string { return b.sub(fmt.Sprint("log-", count)) }

// makeLog makes a session with entries of about 100 bytes, all different.
func (b *bench) makeLog(ctx context.Context, count int) error {
	bucket, err := dirbucket.Open(b.logFolder(count))
	if err != nil {
		return err
	}
	defer bucket.Close()
	store := &storage.Store{Bucket: bucket}
	if _, _, err := store.CreateSession(ctx, storage.Manifest{Session: benchSession}); err != nil {
		return err
	}
	for made := 0; made < count; {
		var entries []storage.Entry
		for ; made < count && len(entries) < entriesEach; made++ {
			body := fmt.Appendf(nil, "%08d %s", made, strings.Repeat("x", 90))
			entries = append(entries, storage.Entry{
				Digest: protocol.Digest(body), Size: int64(len(body)), Data: body, ContentType: "text/plain", Name: fmt.Sprint("entry-", made),
			})
		}
		if _, err := store.Append(ctx, benchSession, storage.Normal, entries); err != nil {
			return err
		}
	}
	return nil
}
