package reference

import (
	"encoding/hex"
	"strings"
	"sync"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/storage"
)

// objectIndex knows the bodies of one invocation's log, in about 50 bytes each.
type objectIndex struct {
	mu      sync.Mutex
	objects map[[32]byte]int32
	// kinds are the different pairs of type and encoding, which are few.
	kinds   []objectKind
	numbers map[objectKind]int32
}

type objectKind struct{ contentType, contentEncoding string }

func newObjectIndex() *objectIndex {
	return &objectIndex{objects: make(map[[32]byte]int32), numbers: make(map[objectKind]int32)}
}

// add makes an entry's body known. Of equal bodies the later entry's type counts
// (reading R48).
func (x *objectIndex) add(entry storage.Entry) {
	key, ok := digestBytes(entry.Digest)
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	kind := objectKind{entry.ContentType, entry.ContentEncoding}
	number, known := x.numbers[kind]
	if !known {
		number = int32(len(x.kinds))
		x.kinds = append(x.kinds, kind)
		x.numbers[kind] = number
	}
	x.objects[key] = number
}

func (x *objectIndex) lookup(digest string) (servedObject, bool) {
	key, ok := digestBytes(digest)
	if !ok {
		return servedObject{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	number, found := x.objects[key]
	if !found {
		return servedObject{}, false
	}
	kind := x.kinds[number]
	return servedObject{digest, kind.contentType, kind.contentEncoding}, true
}

func digestBytes(digest string) (key [32]byte, ok bool) {
	if !protocol.ValidDigest(digest) {
		return key, false
	}
	_, err := hex.Decode(key[:], []byte(strings.TrimPrefix(digest, protocol.DigestPrefix)))
	return key, err == nil
}
