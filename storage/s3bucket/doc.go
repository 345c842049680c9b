// Package s3bucket is a bucket on Amazon S3 and on servers that speak its
// protocol, named by a URL; see [Open].
//
// Every write is a PUT with If-None-Match: *, so that of several writers one
// wins wherever they run. All safety of the layers above hangs on that
// condition, and a server that ignores it answers just as one that heeds it, up
// to the day when two writers meet. So the first write of an opened bucket is
// preceded by a probe: two conditional PUTs to one fresh key, of which the
// second must be refused. A server that lets it pass is refused with
// [ErrNoConditions]. The probe costs three requests. Its object is deleted
// again; where that is not allowed it stays behind as .pugmark-probe-…, which no
// listing shows. What a probe can't see is a server that checks the condition
// and then writes without a lock in between.
//
// # What a write's answer means
//
// Stored means a 200 with an ETag, and nothing else does. 412 is
// [storage.ErrExist], which may be this very write: the library tries again by
// itself when an answer is lost, and then finds its own object. So callers tell
// their own object by its bytes, as [storage.Store] does. 409 says that
// another write to the key is under way; it is tried again, like 500 and 503, a
// few times. After every other answer nobody knows, and the error says what
// came back.
//
// # Large bodies
//
// Bodies are streamed in both directions. From 128 MiB on they go up in parts,
// and the completion carries the condition. Where a second probe shows that
// the server does not heed it there, a body goes up in one PUT, of 5 GiB at most. The
// parts of an upload that was cut off are invisible and cost storage; a
// lifecycle rule that aborts incomplete multipart uploads frees them.
//
// # Servers
//
// Tested by this package: versitygw 1.8.0 on a POSIX file system, with the whole
// contract and with races; gofakes3 for faults.
//
// Documented by their makers to heed If-None-Match: * on PUT, and not tested
// here: Amazon S3 (also on completions), Cloudflare R2 (likewise; region auto),
// Scaleway Object Storage, MinIO since August 2024. Google Cloud Storage documents the header
// for reads alone, and a condition of its own for writes that this package does not
// send; its S3 interface should be refused by the probe. The probe, not this
// list, decides.
//
// Checksums in trailers, which many of these servers do not know, are sent to
// Amazon alone, or where AWS_REQUEST_CHECKSUM_CALCULATION=when_supported asks for
// them. Over http:// each body is signed by its SHA-256; over https:// TLS guards it.
//
// The package must not know what the objects are. Start reading at [Open], then
// Bucket.Put and probe.go.
package s3bucket
