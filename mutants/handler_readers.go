package mutants

import (
	"bytes"
	"io"
	"os"
	"unicode/utf8"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// reading makes a handler that reads its Inputs through a wrapper.
func reading(id, requirement, sentence string, wrap func(io.Reader) io.Reader) Mutant {
	return Mutant{
		ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
		Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Input: wrap} },
	}
}

// handlerReaders misread the framing of section 3.
func handlerReaders() []Mutant {
	posix := reading("follows-the-locale", "P3/utf8",
		"Under a POSIX locale every byte that is not ASCII is read as a question mark.", asksLocale)
	posix.Transports = []string{protocol.TransportSubprocess}
	waits := reading("waits-for-the-end-of-input", "P4.2/lifecycle-begins",
		"Nothing is done before the input has ended.", wholeInput)
	return []Mutant{
		reading("reads-one-record-a-line", "P3/any-whitespace",
			"Each line is taken for one record.", oneRecordALine),
		reading("reads-the-first-record-of-a-line", "P3/any-whitespace",
			"Of the records on one line only the first is read.", firstRecordOfALine),
		reading("needs-white-space-between-records", "P3/any-whitespace",
			"A record right behind another is a fault.", refusesGlued),
		reading("needs-records-on-one-line", "P3/any-whitespace",
			"A record that is laid out over several lines is a fault.", refusesBrokenLines),
		reading("refuses-carriage-returns", "P3/any-whitespace",
			"CR is not taken for white space.", refusesByte('\r')),
		reading("refuses-tabs", "P3/any-whitespace",
			"The tab is not taken for white space.", refusesByte('\t')),
		reading("refuses-spaces", "P3/any-whitespace",
			"The space is not taken for white space.", refusesByte(' ')),
		reading("takes-a-read-for-a-record", "P3/any-whitespace",
			"What one read returns is taken for whole records.", oneReadOneRecord),
		reading("counts-braces", "P3/any-whitespace",
			"A record ends where its braces balance, those in strings counted.", countsBraces),
		reading("stops-at-a-blank-line", "P3/any-whitespace",
			"A blank line is taken for the end of the stream.", stopsAtBlankLine),
		reading("has-a-line-limit", "P3/any-whitespace",
			"A line of more than 64 KiB is a fault.", refusesLongLines),
		reading("splits-at-unicode-lines", "P3/any-whitespace",
			"U+0085 and U+2028 in a string are taken for ends of lines.", splitsAtUnicodeLines),
		reading("loses-the-last-line", "P3/any-whitespace",
			"What follows the last LF of the stream is lost.", dropsUnendedLine),
		reading("loses-what-stands-before-the-end", "P16/no-blocking",
			"A record that the end of input follows at once is lost.", dropsUnendedLine),
		reading("decodes-latin-1", "P3/utf8",
			"Inputs are decoded as Latin-1.", decodesLatin1),
		reading("decodes-each-read-alone", "P3/utf8",
			"A character whose bytes arrive in two reads becomes U+FFFD.", decodesEachRead),
		reading("reads-ascii-only", "P3/utf8",
			"A byte that is not ASCII is a fault.", asciiOnly),
		reading("halves-surrogate-pairs", "P3/utf8",
			"Each half of an escaped surrogate pair becomes a character of its own.", halvesSurrogates),
		posix,
		waits,
		{
			ID: "handler/waits-for-input-to-close", Requirement: "P16/no-blocking",
			Sentence: "It does not answer while its input is open.", Handler: waits.Handler,
		},
	}
}

// wholeInput reads to the end of input before it hands anything on.
func wholeInput(r io.Reader) io.Reader { return &whole{r: r} }

type whole struct {
	r    io.Reader
	data io.Reader
}

func (w *whole) Read(p []byte) (int, error) {
	if w.data == nil {
		data, err := io.ReadAll(w.r)
		if err != nil {
			return 0, err
		}
		w.data = bytes.NewReader(data)
	}
	return w.data.Read(p)
}

// asksLocale decodes as the process's locale says.
func asksLocale(r io.Reader) io.Reader {
	if os.Getenv("LC_ALL") != "POSIX" {
		return r
	}
	return &recoded{r: r, code: func(read []byte) []byte {
		for i, b := range read {
			if b >= utf8.RuneSelf {
				read[i] = '?'
			}
		}
		return read
	}}
}
