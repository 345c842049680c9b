package mutants

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"pugmark.dev/conform/fakehandler"
	"pugmark.dev/conform/protocol"
)

// handlerAnswers take answers of the servers for whole that are not, or for wrong
// that are right, and look otherwise at records that they can't read.
func handlerAnswers() []Mutant {
	taking := func(id, requirement, sentence string, answer exchange) Mutant {
		return Mutant{
			ID: "handler/" + id, Requirement: requirement, Sentence: sentence,
			Handler: func() fakehandler.Agreement { return fakehandler.Agreement{Servers: answer} },
		}
	}
	return []Mutant{
		taking("takes-cut-answers-for-bodies", "P7/whole-body", "What came of an answer that breaks off is taken for the body.", whatCame),
		taking("hands-out-what-came", "K4/body", "What came of an answer that breaks off is handed out as the body.", whatCame),
		taking("takes-cut-answers-for-empty", "P7/whole-body", "An answer that breaks off is taken for an empty body.",
			func(q *http.Request, r *http.Response) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil {
					body = nil
					r.Header.Del("Content-Encoding")
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				return r, nil
			}),
		taking("unpacks-what-came-of-gzip", "P7/content-encoding", "Of gzip that breaks off as much is taken for the body as unpacks.",
			onlyIn(protocol.CodingGzip, whatCame, packedIn(protocol.CodingGzip, func(packed []byte) ([]byte, error) {
				z, err := gzip.NewReader(bytes.NewReader(packed))
				if err != nil {
					return nil, err
				}
				plain, _ := io.ReadAll(z)
				return plain, nil
			}))),
		taking("unpacks-what-came-of-zstd", "P7/content-encoding", "Of zstd that breaks off as much is taken for the body as unpacks.",
			onlyIn(protocol.CodingZstd, whatCame, packedIn(protocol.CodingZstd, func(packed []byte) ([]byte, error) {
				z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
				if err != nil {
					return nil, err
				}
				defer z.Close()
				plain, _ := io.ReadAll(z)
				return plain, nil
			}))),
		taking("needs-bodies-to-have-bytes", "P3.2/missing-is-zero", "An answer without a byte is a fault.",
			func(_ *http.Request, r *http.Response) (*http.Response, error) {
				if isSuccess(r) && r.ContentLength == 0 {
					r.Body.Close()
					return nil, errors.New("an empty body")
				}
				return r, nil
			}),
		editingInputs("prints-nulls", "P3.2/missing-is-zero", "A null is read as the text None.",
			func(o object) (object, error) {
				for _, m := range o {
					if m.value.Kind() == 'n' && isKnown(m.name) && m.name != "metadata" && m.name != "event" {
						o = o.with(m.name, quoted("None"))
					}
				}
				return o, nil
			}),
		reading("reads-what-it-can-of-other-versions", "P17/protocol-event",
			"The announcement of another version is passed over, and so is every record that is none of version 1.", readable),
		{
			ID: "handler/exits-0-on-failure", Requirement: "P2.2/status-200", Transports: []string{protocol.TransportSubprocess},
			Sentence: "A failed invocation ends with exit status 0.",
			Handler: func() fakehandler.Agreement {
				return fakehandler.Agreement{Status: func(error) int { return 0 }}
			},
		},
	}
}

// onlyIn changes an answer in one coding, twice.
func onlyIn(coding string, one, two exchange) exchange {
	return func(q *http.Request, r *http.Response) (*http.Response, error) {
		if r.Header.Get("Content-Encoding") != coding {
			return r, nil
		}
		r, err := one(q, r)
		if err != nil {
			return nil, err
		}
		return two(q, r)
	}
}

// whatCame takes what was read of an answer for all of it.
func whatCame(_ *http.Request, r *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, nil
}

// readable leaves out what announces a version, and records of which a field has
// another type than in section 4.
func readable(r io.Reader) io.Reader {
	return &readableRecords{decoder: jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true))}
}

type readableRecords struct {
	decoder *jsontext.Decoder
	pending []byte
}

func (s *readableRecords) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		raw, err := s.decoder.ReadValue()
		if err != nil {
			return 0, err
		}
		if o, err := parse(raw); err == nil && o.text("event") != protocol.EventProtocol && fits(o) {
			s.pending = append(o.bytes(), '\n')
		}
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// fits reports whether the fields of section 4 have their types.
func fits(o object) bool {
	for _, f := range inputFields() {
		if v := o.value(f.name); v != nil && v.Kind() != f.value.Kind() && v.Kind() != 'n' {
			return false
		}
	}
	return true
}
