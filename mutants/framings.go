package mutants

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The readers of this file are wrong readings of section 3's framing. Each passes
// on what it takes for the stream, and ends with an error where it can't go on.
// Both sides can make the mistakes, so handlers and runtimes share them.

// scanner knows, byte by byte, where in JSON text one is.
type scanner struct {
	depth             int
	inString, escaped bool
}

func (s *scanner) next(b byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString && b == '\\':
		s.escaped = true
	case b == '"':
		s.inString = !s.inString
	case s.inString:
	case b == '{', b == '[':
		s.depth++
	case b == '}', b == ']':
		s.depth--
	}
}

// watched passes a stream on as long as look allows each byte. The scanner is as it
// was before the byte.
func watched(r io.Reader, look func(at scanner, b byte) error) io.Reader {
	return &watch{r: r, look: look}
}

type watch struct {
	r    io.Reader
	at   scanner
	look func(scanner, byte) error
	err  error
}

func (w *watch) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.r.Read(p)
	for i, b := range p[:n] {
		if w.err = w.look(w.at, b); w.err != nil {
			return i, w.err
		}
		w.at.next(b)
	}
	return n, err
}

// refusesByte takes a byte for a fault of the stream where it stands between
// tokens.
func refusesByte(refused byte) func(io.Reader) io.Reader {
	return func(r io.Reader) io.Reader {
		return watched(r, func(at scanner, b byte) error {
			if b == refused && !at.inString {
				return fmt.Errorf("byte %#02x between tokens", b)
			}
			return nil
		})
	}
}

// refusesGlued wants something between two records.
func refusesGlued(r io.Reader) io.Reader {
	ended := false
	return watched(r, func(at scanner, b byte) error {
		defer func() { ended = at.depth == 1 && b == '}' && !at.inString }()
		if ended && b == '{' {
			return errors.New("a record right behind another")
		}
		return nil
	})
}

// refusesBrokenLines wants each record on one line.
func refusesBrokenLines(r io.Reader) io.Reader {
	return watched(r, func(at scanner, b byte) error {
		if b == '\n' && at.depth > 0 {
			return errors.New("a line that ends within a record")
		}
		return nil
	})
}

// refusesLongLines is a line reader with a buffer of 64 KiB.
func refusesLongLines(r io.Reader) io.Reader {
	length := 0
	return watched(r, func(_ scanner, b byte) error {
		if length++; b == '\n' {
			length = 0
		}
		if length > bufio.MaxScanTokenSize {
			return bufio.ErrTooLong
		}
		return nil
	})
}

// asciiOnly refuses what is not ASCII.
func asciiOnly(r io.Reader) io.Reader {
	return watched(r, func(_ scanner, b byte) error {
		if b >= utf8.RuneSelf {
			return fmt.Errorf("byte %#02x is no ASCII", b)
		}
		return nil
	})
}

// byLine reads line by line; take gets each line without its LF, ended tells
// whether it had one. What take returns is passed on.
func byLine(r io.Reader, take func(line []byte, ended bool) ([]byte, error)) io.Reader {
	return &lines{r: bufio.NewReader(r), take: take}
}

type lines struct {
	r       *bufio.Reader
	take    func([]byte, bool) ([]byte, error)
	pending []byte
	err     error
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		line, err := l.r.ReadBytes('\n')
		l.err = err
		if err != nil && len(line) == 0 {
			continue
		}
		text, ended := bytes.CutSuffix(line, []byte("\n"))
		out, err := l.take(text, ended)
		if err != nil {
			l.err = err
		}
		l.pending = out
	}
	n := copy(p, l.pending)
	l.pending = l.pending[n:]
	return n, nil
}

// oneRecordALine takes each line for one record, as a reader of JSON lines does.
func oneRecordALine(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		if len(bytes.TrimSpace(line)) == 0 {
			return nil, nil
		}
		if !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
			return nil, fmt.Errorf("a line that is no JSON value: %.40q", line)
		}
		return append(line, '\n'), nil
	})
}

// firstRecordOfALine takes the first record of each line and drops the rest of it.
func firstRecordOfALine(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		value, err := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true)).ReadValue()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			return nil, err
		}
		return append(bytes.Clone(value), '\n'), nil
	})
}

// dropsUnendedLine loses what follows the last LF.
func dropsUnendedLine(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, ended bool) ([]byte, error) {
		if !ended {
			return nil, nil
		}
		return append(line, '\n'), nil
	})
}

// stopsAtBlankLine takes an empty line for the end of the stream.
func stopsAtBlankLine(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		if len(line) == 0 {
			return nil, io.EOF
		}
		return append(line, '\n'), nil
	})
}

// splitsAtUnicodeLines takes the line separators of Unicode for ends of lines, as
// some languages' own line splitting does.
func splitsAtUnicodeLines(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		if bytes.ContainsAny(line, "\u0085\u2028\u2029") {
			return nil, errors.New("a line that ends within a record")
		}
		return append(line, '\n'), nil
	})
}

// countsBraces ends a record at the brace that closes it by count, those within
// strings included, and then wants each piece to be JSON.
func countsBraces(r io.Reader) io.Reader {
	depth := 0
	var piece []byte
	return watched(r, func(_ scanner, b byte) error {
		piece = append(piece, b)
		switch b {
		case '{':
			depth++
		case '}':
			if depth--; depth > 0 {
				return nil
			}
			text := piece
			piece, depth = nil, 0
			if !jsontext.Value(bytes.TrimSpace(text)).IsValid(jsontext.AllowDuplicateNames(true)) {
				return fmt.Errorf("a record that is no JSON: %.40q", text)
			}
		}
		return nil
	})
}

// readIsRecord takes what one read returns for whole records.
type readIsRecord struct {
	r       io.Reader
	pending []byte
}

func oneReadOneRecord(r io.Reader) io.Reader { return &readIsRecord{r: r} }

func (o *readIsRecord) Read(p []byte) (int, error) {
	if len(o.pending) == 0 {
		buffer := make([]byte, 1<<20)
		n, err := o.r.Read(buffer)
		if n == 0 {
			return 0, err
		}
		var at scanner
		for _, b := range buffer[:n] {
			at.next(b)
		}
		if at.depth != 0 || at.inString {
			return 0, fmt.Errorf("a read of %d bytes that ends within a record", n)
		}
		o.pending = buffer[:n]
	}
	n := copy(p, o.pending)
	o.pending = o.pending[n:]
	return n, nil
}

// recoded passes on what code makes of the bytes of each read.
type recoded struct {
	r       io.Reader
	code    func(read []byte) []byte
	pending []byte
}

func (c *recoded) Read(p []byte) (int, error) {
	for len(c.pending) == 0 {
		buffer := make([]byte, 32<<10)
		n, err := c.r.Read(buffer)
		if n == 0 {
			return 0, err
		}
		c.pending = c.code(buffer[:n])
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

// decodesEachRead decodes UTF-8 read by read, so that a character on the border of
// two reads is lost.
func decodesEachRead(r io.Reader) io.Reader {
	return &recoded{r: r, code: func(read []byte) []byte { return bytes.ToValidUTF8(read, []byte("\uFFFD")) }}
}

// decodesLatin1 takes each byte for a character.
func decodesLatin1(r io.Reader) io.Reader {
	return &recoded{r: r, code: func(read []byte) []byte {
		var out []byte
		for _, b := range read {
			out = utf8.AppendRune(out, rune(b))
		}
		return out
	}}
}

// replacesBadUTF8 puts U+FFFD in place of bytes that are no UTF-8.
func replacesBadUTF8(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		return append(bytes.ToValidUTF8(line, []byte("\uFFFD")), '\n'), nil
	})
}

// leavesEscapes does not know \u escapes and passes on their text.
func leavesEscapes(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		return append([]byte(strings.ReplaceAll(string(line), `\u`, `\\u`)), '\n'), nil
	})
}

// halvesSurrogates decodes each half of a surrogate pair alone.
func halvesSurrogates(r io.Reader) io.Reader {
	return byLine(r, func(line []byte, _ bool) ([]byte, error) {
		text := []byte(line)
		for i := 0; i+6 <= len(text); i++ {
			if text[i] == '\\' && text[i+1] == 'u' && (text[i+2]|0x20) == 'd' && strings.IndexByte("89abcdefABCDEF", text[i+3]) >= 0 {
				copy(text[i:], `\ufffd`)
			}
		}
		return append(text, '\n'), nil
	})
}
