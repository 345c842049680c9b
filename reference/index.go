package reference

import (
	"encoding/hex"
	"iter"
	"strings"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// objectIndex knows the bodies of one invocation's log, in about 100 bytes each. So
// that a replay of any number of small entries takes flat memory, it learns of
// bodies that were inlined only when one of them is asked for, which a handler that
// prefers data never does; then it reads the log once more.
type objectIndex struct {
	// all yields the log.
	all func() iter.Seq2[located, error]

	mu sync.Mutex
	// objects has the content type of each body in each encoding that the log has it
	// in: the same bytes can be one entry's body as they are, and another's encoded.
	objects map[objectKey]int32
	// texts are the different types and encodings, which are few.
	texts   []string
	numbers map[string]int32
	// whole says that all was read.
	whole bool
}

// objectKey is a body and the number of its encoding's text.
type objectKey struct {
	digest   [32]byte
	encoding int32
}

func newObjectIndex(all func() iter.Seq2[located, error]) *objectIndex {
	return &objectIndex{all: all, objects: make(map[objectKey]int32), numbers: make(map[string]int32)}
}

// replayed makes an entry's body known, before the handler knows its URL.
func (x *objectIndex) replayed(entry storage.Entry) {
	if entry.Inline() && entry.Size > 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.add(entry)
}

// add wants the lock. Of equal bodies in one encoding the later entry's type counts
// (reading R48).
func (x *objectIndex) add(entry storage.Entry) {
	digest, ok := digestBytes(entry.Digest)
	if !ok {
		return
	}
	x.objects[objectKey{digest, x.number(entry.ContentEncoding)}] = x.number(entry.ContentType)
}

func (x *objectIndex) number(text string) int32 {
	number, known := x.numbers[text]
	if !known {
		number = int32(len(x.texts))
		x.texts = append(x.texts, text)
		x.numbers[text] = number
	}
	return number
}

// lookup finds the body with a digest, if the log has one: in the given encoding, or
// else in any other that the log has it in.
func (x *objectIndex) lookup(digest, encoding string) (object servedObject, found bool, err error) {
	key, ok := digestBytes(digest)
	if !ok {
		return servedObject{}, false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at := objectKey{key, x.number(encoding)}
	number, found := x.objects[at]
	if !found {
		if err := x.readAll(); err != nil {
			return servedObject{}, false, err
		}
		number, found = x.objects[at]
	}
	for other := 0; !found && other < len(x.texts); other++ {
		at.encoding = int32(other)
		number, found = x.objects[at]
	}
	if !found {
		return servedObject{}, false, nil
	}
	return servedObject{digest, x.texts[number], x.texts[at.encoding]}, true, nil
}

func (x *objectIndex) readAll() error {
	if x.whole {
		return nil
	}
	for entry, err := range x.all() {
		if err != nil {
			return err
		}
		if entry.replayed() {
			x.add(entry.Entry)
		}
	}
	x.whole = true
	return nil
}

func digestBytes(digest string) (key [32]byte, ok bool) {
	if !protocol.ValidDigest(digest) {
		return key, false
	}
	_, err := hex.Decode(key[:], []byte(strings.TrimPrefix(digest, protocol.DigestPrefix)))
	return key, err == nil
}
