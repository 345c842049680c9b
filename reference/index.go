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

	mu      sync.Mutex
	objects map[[32]byte]int32
	// kinds are the different pairs of type and encoding, which are few.
	kinds   []objectKind
	numbers map[objectKind]int32
	// whole says that all was read.
	whole bool
}

type objectKind struct{ contentType, contentEncoding string }

func newObjectIndex(all func() iter.Seq2[located, error]) *objectIndex {
	return &objectIndex{all: all, objects: make(map[[32]byte]int32), numbers: make(map[objectKind]int32)}
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

// add wants the lock. Of equal bodies the later entry's type counts (reading R48).
func (x *objectIndex) add(entry storage.Entry) {
	key, ok := digestBytes(entry.Digest)
	if !ok {
		return
	}
	kind := objectKind{entry.ContentType, entry.ContentEncoding}
	number, known := x.numbers[kind]
	if !known {
		number = int32(len(x.kinds))
		x.kinds = append(x.kinds, kind)
		x.numbers[kind] = number
	}
	x.objects[key] = number
}

// lookup finds the body with a digest, if the log has one.
func (x *objectIndex) lookup(digest string) (object servedObject, found bool, err error) {
	key, ok := digestBytes(digest)
	if !ok {
		return servedObject{}, false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	number, found := x.objects[key]
	if !found {
		if err := x.readAll(); err != nil {
			return servedObject{}, false, err
		}
		if number, found = x.objects[key]; !found {
			return servedObject{}, false, nil
		}
	}
	kind := x.kinds[number]
	return servedObject{digest, kind.contentType, kind.contentEncoding}, true, nil
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
