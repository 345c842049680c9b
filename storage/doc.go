// Package storage keeps what a pugmark runtime persists: sessions and their
// manifests, versioned snapshots, bodies by content address, and memory
// namespaces. It stands on a small [Bucket] interface, whose only write is
// create-if-absent, so that every store that can do that one thing well is safe
// between goroutines, processes and machines.
//
// The layout under a bucket's root is
//
//	objects/sha256/<64 hex>                           a body, byte for byte
//	sessions/<session>/manifest.json
//	sessions/<session>/snapshots/<version, 20 digits>.json
//	memories/<namespace>/<version, 20 digits>.json
//
// Nothing is ever changed or deleted (S1/immutable-body, S3/append-only): what a
// visible snapshot refers to stays.
//
// The package must not know the wire, handlers or servers. Start reading at
// [Bucket], then [Store].
package storage
