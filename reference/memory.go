package reference

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"pugmark.dev/conform/storage"
)

// MemoryObject is an object of a memory namespace (section 8).
type MemoryObject struct {
	// Namespace may have slashes.
	Namespace string `json:"namespace"`
	// DumpEntry is the latest entry of the object's name; its Name has no slash.
	DumpEntry
}

// Key is the object's memory key (section 8.2).
func (o MemoryObject) Key() string { return o.Namespace + "/" + o.Name }

// Memory yields the latest object of every name of every namespace, sorted by
// namespace and name. An error ends it.
func (r *Runtime) Memory(ctx context.Context) iter.Seq2[MemoryObject, error] {
	return func(yield func(MemoryObject, error) bool) {
		namespaces, err := r.Store.Namespaces(ctx)
		if err != nil {
			yield(MemoryObject{}, err)
			return
		}
		for _, namespace := range namespaces {
			entries, err := r.Store.MemoryEntries(ctx, namespace)
			if err != nil {
				yield(MemoryObject{}, err)
				return
			}
			for _, entry := range entries {
				if !yield(memoryObject(namespace, entry), nil) {
					return
				}
			}
		}
	}
}

// MemoryObject returns the object with a key.
func (r *Runtime) MemoryObject(ctx context.Context, key string) (MemoryObject, error) {
	namespace, name, err := splitMemoryKey(key)
	if err != nil {
		return MemoryObject{}, &RequestError{err}
	}
	entry, err := r.Store.MemoryEntry(ctx, namespace, name)
	if err != nil {
		return MemoryObject{}, asRequest(err)
	}
	return memoryObject(namespace, entry), nil
}

// WriteMemory writes a memory object from outside of any session: its Name is left
// out of account, the key says it.
func (r *Runtime) WriteMemory(ctx context.Context, key string, object Object) error {
	namespace, name, err := splitMemoryKey(key)
	if err == nil {
		err = storage.CheckMemoryName(namespace, name)
	}
	if err == nil {
		err = checkTexts([]string{namespace}, nil)
	}
	var entry storage.Entry
	if err == nil {
		entry, err = object.entry(name)
	}
	if err != nil {
		return &RequestError{fmt.Errorf("writing memory object %.200q: %w", key, err)}
	}
	if err := r.putBody(ctx, &entry, object.Body); err != nil {
		return err
	}
	return asRequest(r.Store.WriteMemory(ctx, namespace, nil, 0, []storage.Entry{entry}))
}

func memoryObject(namespace string, entry storage.Entry) MemoryObject {
	return MemoryObject{Namespace: namespace, DumpEntry: bareDump(entry)}
}

// splitMemoryKey takes a key apart. The longest mounted namespace that is a prefix
// of a key (P8.2/longest-prefix) leaves an object name without a slash
// (P8.2/object-name) only if it reaches to the key's last slash; so the namespace up to
// there is the only one that can have the object, whichever others are mounted.
func splitMemoryKey(key string) (namespace, name string, err error) {
	last := strings.LastIndexByte(key, '/')
	if last < 0 {
		return "", "", fmt.Errorf("memory key %.200q has no slash between its namespace and its object name", key)
	}
	return key[:last], key[last+1:], nil
}
