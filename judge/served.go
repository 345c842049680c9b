package judge

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"pugmark.dev/conform/casefile"
	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/script"
	"pugmark.dev/conform/transcript"
)

// checkFetched compares the answers to the script's fetches, in the order of the
// requests.
func checkFetched(want []casefile.Fetched, v *feed) outcome {
	return sequence{
		what: "answer", want: len(want), got: len(v.reqs),
		where: func(place string) string { return "requests of the handler, " + place },
		compare: func(i, k int) (c comparison) {
			w, q := want[i], v.reqs[k]
			if q.answer == nil {
				c.add("answer", "an answer", "none", false)
				return c
			}
			h := q.answer.HTTP
			if w.Status != 0 {
				c.add("status", fmt.Sprint(w.Status), fmt.Sprint(h.Status), w.Status == h.Status)
			}
			for _, name := range sortedKeys(w.Headers) {
				got := header(h.Header, name)
				c.add(name, orAbsent(w.Headers[name]), orAbsent(got), got == w.Headers[name])
			}
			if w.Body != nil {
				data, problem := v.bodies[h.Exchange], ""
				if h.Cut {
					problem = describe(data) + ", cut short"
				} else if plain, err := decoded(data, header(h.Header, "Content-Encoding")); err != nil {
					problem = fmt.Sprintf("%s, which can't be decoded: %v", describe(data), err)
				} else {
					data = plain
				}
				c.body(w.Body, data, problem, exactBody)
			}
			if w.Stored != nil {
				compareStored(&c, w.Stored, v.bodies[h.Exchange], h)
			}
			return c
		},
		labelWant: func(i int) string { return fmt.Sprintf("status %d", want[i].Status) },
		labelGot: func(k int) string {
			q := v.reqs[k]
			if q.answer == nil {
				return fmt.Sprintf("%s %s without an answer", q.method, clip(q.target, 120))
			}
			return fmt.Sprintf("status %d for %s %s", q.answer.HTTP.Status, q.method, clip(q.target, 120))
		},
	}.judge()
}

// compareStored compares the bytes that came over the wire, and their announced
// number.
func compareStored(c *comparison, want *script.Body, got []byte, h *transcript.HTTP) {
	stored, err := want.Stored()
	if err != nil {
		c.err = fmt.Errorf("the wanted body: %w", err)
		return
	}
	c.add("stored bytes", describe(stored), describe(got), bytes.Equal(stored, got))
	if length := header(h.Header, "Content-Length"); length != "" {
		c.add("Content-Length", strconv.Itoa(len(stored)), length, length == strconv.Itoa(len(stored)))
	}
}

// checkObjectURLs wants every entry's url in the shape of section 7 (P7/object-url,
// P17/closed-urls), and its digest to be that of the body behind it: of the packed
// one, or of the unpacked one (R3).
func checkObjectURLs(v *feed) outcome {
	urls, proven := 0, 0
	for _, r := range v.entries() {
		if _, ok := r.get("url"); !ok {
			continue
		}
		urls++
		text := r.str("url")
		place := fmt.Sprintf("%s, record %d, url", v.name, r.number)
		digest, ok := objectDigest(text)
		if !ok {
			return failed(finding{where: place, want: "http://<host>:<port>/sha256:<64 lower-case hex digits>", got: r.shown("url")})
		}
		for _, q := range v.reqs {
			if q.answer == nil || q.answer.HTTP.Status != 200 || q.path() != "/"+digest || q.stream != transcript.Objects {
				continue
			}
			data := v.bodies[q.answer.HTTP.Exchange]
			plain, err := decoded(data, header(q.answer.HTTP.Header, "Content-Encoding"))
			if protocol.Digest(data) != digest && (err != nil || protocol.Digest(plain) != digest) {
				return failed(finding{where: place, want: "the digest of the body behind it, " + protocol.Digest(data), got: digest})
			}
			proven++
		}
	}
	switch {
	case urls == 0:
		return failed(finding{where: v.name, want: "at least one entry with a url", got: "none"})
	case proven == 0:
		return unseen("a fetched body to hold against its url", "the script fetched none")
	}
	return passed()
}

// objectDigest returns the digest in an object's URL, and whether the URL has the
// closed shape.
func objectDigest(text string) (digest string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Port() == "" {
		return "", false
	}
	digest = strings.TrimPrefix(u.Path, "/")
	return digest, protocol.ValidDigest(digest) && text == "http://"+u.Host+"/"+digest
}

// checkIdentical wants the bytes behind an entry's url to be those of its data
// (P7.1/identical).
func checkIdentical(v *feed) outcome {
	known := 0
	for _, r := range v.entries() {
		data, text := r.data(), r.str("url")
		if data.present {
			known++
		}
		for _, q := range v.reqs {
			if text == "" || q.answer == nil || q.answer.HTTP.Status != 200 || q.method != "GET" || !strings.HasSuffix(text, q.path()) {
				continue
			}
			known++
			if fetched := v.bodies[q.answer.HTTP.Exchange]; data.present && !bytes.Equal(fetched, data.bytes) {
				return failed(finding{where: fmt.Sprintf("%s, record %d, url", v.name, r.number),
					want: describe(data.bytes) + ", as in data", got: describe(fetched)})
			}
		}
		if data.present && text != "" && !v.asked(text) {
			return unseen("a fetch of the url beside the data", "the script made none")
		}
	}
	if known == 0 {
		return unseen("an entry whose body is known", "none")
	}
	return passed()
}

// asked reports whether the script got an answer from the url.
func (v *feed) asked(text string) bool {
	for _, q := range v.reqs {
		if q.answer != nil && strings.HasSuffix(text, q.path()) {
			return true
		}
	}
	return false
}
