package fakehandler

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/transcript"
)

// by is what transcripts of this package say they were recorded by.
const by = "fakehandler"

// recordLimit is how many bytes of one stream a record keeps.
const recordLimit = transcript.DefaultLimit

// head is the first line of a record file; each further line is an event.
type head struct {
	By        string    `json:"by"`
	Transport string    `json:"transport"`
	Started   time.Time `json:"started"`
}

// record writes the transcript of one invocation. Each event is in the file, by
// one write, before the handler goes on: what was recorded survives any end.
type record struct {
	transcript.Recorder
	number int
	file   *os.File
	// err is the first fault of the file. It is read only after the last event.
	err error
}

// newRecord takes the next number in the folder. Several processes may do so at
// the same time: each gets its own.
func newRecord(folder, transport string) (*record, error) {
	for next := firstFree(folder); ; next++ {
		file, err := os.OpenFile(recordPath(folder, next), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record of an invocation: %w", err)
		}
		r := &record{number: next, file: file}
		r.Recorder = transcript.Recorder{Limit: recordLimit, Sink: func(e transcript.Event) { r.line(e) }}
		r.line(head{By: by, Transport: transport, Started: time.Now()})
		return r, nil
	}
}

// firstFree guesses the next number from the number of those taken, in a few looks:
// they have no gaps, and reading a folder of many would be most of an invocation.
func firstFree(folder string) int {
	taken := func(n int) bool {
		_, err := os.Lstat(recordPath(folder, n))
		return err == nil
	}
	bound := 1
	for taken(bound) {
		bound *= 2
	}
	return 1 + sort.Search(bound-1, func(i int) bool { return !taken(i + 1) })
}

func (r *record) line(v any) {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = err
	}
}

func (r *record) note(format string, args ...any) {
	r.Add(transcript.Event{Kind: transcript.Note, Text: fmt.Sprintf(format, args...)})
}

func (r *record) sent(stream string, data []byte) {
	if len(data) > 0 {
		r.Add(transcript.Event{Kind: transcript.Sent, Stream: stream, Data: data})
	}
}

func (r *record) closed(stream, how string) {
	r.Add(transcript.Event{Kind: transcript.Closed, Stream: stream, Text: how})
}

func (r *record) exited(e transcript.Ended) {
	r.Add(transcript.Event{Kind: transcript.Exited, Ended: &e})
}

// close ends the record. Its error is any that recording met.
func (r *record) close() error {
	if err := r.file.Close(); r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return fmt.Errorf("record of invocation %d: %w", r.number, r.err)
	}
	return nil
}

// process records what this process was started with: its arguments, its whole
// environment and its working folder.
func (r *record) process() {
	r.Add(transcript.Event{Kind: transcript.Spawn, Text: quoteArgs(os.Args)})
	variables := map[string]string{}
	for _, setting := range os.Environ() {
		name, value, _ := strings.Cut(setting, "=")
		if _, twice := variables[name]; twice {
			r.note("the environment has %s more than once", name)
			continue
		}
		variables[name] = value
	}
	r.Add(transcript.Event{Kind: transcript.Environment, Variables: variables})
	folder, err := os.Getwd()
	if err != nil {
		r.note("working folder: %v", err)
		return
	}
	r.note("working folder: %s", folder)
}

// quoteArgs writes an argument list as a POSIX shell would take it.
func quoteArgs(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		plain := arg != "" && !strings.ContainsFunc(arg, func(c rune) bool {
			return c > 0x7e || !strings.ContainsRune("%+,-./:=@_", c) &&
				(c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		})
		if !plain {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		quoted[i] = arg
	}
	return strings.Join(quoted, " ")
}

const (
	recordPrefix = "invocation-"
	recordSuffix = ".jsonl"
)

func recordPath(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("%s%06d%s", recordPrefix, number, recordSuffix))
}

// numbers returns the numbers taken in the folder, in order.
func numbers(folder string) ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("record folder: %w", err)
	}
	var taken []int
	for _, entry := range entries {
		digits, ok := strings.CutPrefix(entry.Name(), recordPrefix)
		if !ok {
			continue
		}
		if digits, ok = strings.CutSuffix(digits, recordSuffix); !ok {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && n > 0 {
			taken = append(taken, n)
		}
	}
	return taken, nil // six digits: the order of names is that of numbers
}
