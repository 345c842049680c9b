package fakeruntime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"pugmark.dev/conform/script"
)

// Roots is where the two servers of an invocation are reached. Both end in a
// slash: an object's URL is Objects followed by sha256:<hex>, and Memory is what
// the memory record announces (section 8.1).
type Roots struct {
	Objects string
	Memory  string
}

// Stream is a script that was composed: the exact bytes of the input stream, cut
// into the writes that deliver them, and what the two servers hold.
type Stream struct {
	// Writes is the input stream. Each is delivered by one write.
	Writes [][]byte
	// Names maps each path of the object server to the name of its record, which
	// may be empty. Records with equal bodies share a path; the later one's name
	// stands for all.
	Names map[string]string

	late    map[int]time.Duration // by write: what is waited before it
	objects map[string]reply      // by path
	memory  map[string]reply      // by key
}

// Bytes returns the input stream in one piece.
func (s Stream) Bytes() []byte {
	var all []byte
	for _, w := range s.Writes {
		all = append(all, w...)
	}
	return all
}

// Compose turns a script into bytes. What the instructions call
// the case goes into them.
// An error names the record, counted from 1, or the memory key.
//
// Records with equal stored bodies have one URL (section 7), so they must not be
// served in different ways: that is an error. When only their content types or
// encodings differ, the later record's are served (R48).
func Compose(told string, s Script, at Roots) (Stream, error) {
	out := Stream{Names: map[string]string{}, objects: map[string]reply{}, memory: map[string]reply{}}
	if s.Chunk < 0 {
		return out, fmt.Errorf("chunk: %d bytes a write can't be", s.Chunk)
	}
	c := composer{told: told, script: s, at: at, out: &out, from: map[string]int{}}
	var records [][]byte
	late := map[int]time.Duration{}
	for i, r := range s.Records {
		late[len(records)] = time.Duration(r.Late)
		if r.Late > 0 && s.Chunk > 0 {
			return out, fmt.Errorf("record %d: late: a stream that is cut into chunks has no write of its own for a record", i+1)
		}
		r.Late = 0
		texts, err := c.record(i+1, r)
		if err != nil {
			return out, fmt.Errorf("record %d: %w", i+1, err)
		}
		records = append(records, texts...)
	}
	for key, object := range s.Memory {
		answer, err := memoryReply(key, object)
		if err != nil {
			return out, fmt.Errorf("memory %s: %w", key, err)
		}
		out.memory[key] = answer
	}
	out.Writes, out.late = frame(s.Framing, records, late)
	return out, nil
}

// frame lays records out as a stream and cuts it into writes. What is late, by
// record, becomes what is late by write.
func frame(f script.Framing, records [][]byte, late map[int]time.Duration) ([][]byte, map[int]time.Duration) {
	between, after := "\n", "\n"
	if f.Between != nil {
		between = *f.Between
	}
	if f.After != nil {
		after = *f.After
	}
	var writes [][]byte
	next := []byte(f.Before)
	for i, r := range records {
		next = append(next, r...)
		if i < len(records)-1 {
			next = append(next, between...)
		} else {
			next = append(next, after...)
		}
		writes = append(writes, next)
		next = nil
	}
	if len(next) > 0 {
		writes = append(writes, next)
	}
	if f.Chunk > 0 {
		return cut(writes, f.Chunk), nil
	}
	var full [][]byte
	waits := map[int]time.Duration{}
	for i, w := range writes {
		waits[len(full)] += late[i]
		if len(w) > 0 { // an empty raw record with nothing after it is no write
			full = append(full, w)
		}
	}
	return full, waits
}

// cut splits a stream into writes of n bytes; only the last may be shorter.
func cut(writes [][]byte, n int) [][]byte {
	var all []byte
	for _, w := range writes {
		all = append(all, w...)
	}
	var out [][]byte
	for len(all) > n {
		out = append(out, all[:n:n])
		all = all[n:]
	}
	if len(all) > 0 {
		out = append(out, all)
	}
	return out
}

type composer struct {
	told   string
	script Script
	at     Roots
	out    *Stream
	from   map[string]int // the record that each object path is from
}

// record renders one record as often as it is wanted.
func (c *composer) record(number int, r Record) ([][]byte, error) {
	if r.Times < 0 {
		return nil, fmt.Errorf("times: a record can't be written %d times", r.Times)
	}
	if r.Raw != nil {
		return c.raw(r)
	}
	if r.Instructions != nil {
		var err error
		if r, err = c.instructions(r); err != nil {
			return nil, err
		}
	}
	if err := checkRecord(r); err != nil {
		return nil, err
	}
	var e entry
	if r.Body != nil {
		var err error
		if e, err = c.entry(number, r); err != nil {
			return nil, err
		}
	}
	var texts [][]byte
	for n := 1; n <= max(r.Times, 1); n++ {
		copied := r
		if r.Times > 0 {
			copied.Name = strings.ReplaceAll(r.Name, "{n}", strconv.Itoa(n))
		}
		fields, err := c.fields(copied, e)
		if err != nil {
			return nil, err
		}
		texts = append(texts, fields.Render(c.script.Style))
		if e.path != "" {
			c.out.Names[e.path] = copied.Name
		}
	}
	return texts, nil
}

// raw is a record that is written as it stands.
func (c *composer) raw(r Record) ([][]byte, error) {
	text, times := []byte(*r.Raw), max(r.Times, 1)
	r.Raw, r.Times = nil, 0
	if !reflect.DeepEqual(r, Record{}) {
		return nil, fmt.Errorf("raw stands in place of all other fields but times")
	}
	texts := make([][]byte, times)
	for i := range texts {
		texts[i] = text
	}
	return texts, nil
}

// entry is a body behind a URL.
type entry struct {
	stored []byte
	path   string // /sha256:<hex>
}

// entry puts a record's body on the object server, unless it travels by data
// alone. The URL's digest is that of the stored bytes (R3).
func (c *composer) entry(number int, r Record) (entry, error) {
	stored, err := r.Body.Stored()
	if err != nil {
		return entry{}, fmt.Errorf("body: %w", err)
	}
	if r.By == byData {
		if !isRight(r.Serve) {
			return entry{}, fmt.Errorf("serve: a body that travels by data has no URL")
		}
		return entry{stored: stored}, nil
	}
	answer, err := newReply(object{body: stored, kind: contentType(r), encoding: r.Body.Encoding}, r.Serve)
	if err != nil {
		return entry{}, fmt.Errorf("serve: %w", err)
	}
	sum := sha256.Sum256(stored)
	e := entry{stored: stored, path: "/sha256:" + hex.EncodeToString(sum[:])}
	if first, ok := c.from[e.path]; ok && !reflect.DeepEqual(c.script.Records[first-1].Serve, r.Serve) {
		return entry{}, fmt.Errorf("serve: record %d has the same body, so the same URL, and is served in another way", first)
	}
	c.from[e.path] = number
	c.out.objects[e.path] = answer
	return e, nil
}
