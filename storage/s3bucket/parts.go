package s3bucket

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	// maxParts is how many parts S3 takes.
	maxParts = 10_000
	// partsTries is how often an upload in parts is begun anew after a 409, whose parts
	// can't be used again.
	partsTries = 3
)

// putParts stores body in parts with the condition on their completion.
func (b *Bucket) putParts(ctx context.Context, key string, body section) error {
	for try := 1; ; try++ {
		err := b.tryParts(ctx, *b.full(key), body)
		if statusOf(err) != 409 || try == partsTries {
			return err
		}
	}
}

func (b *Bucket) tryParts(ctx context.Context, fullKey string, body section) error {
	upload, err := b.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket:            &b.name,
		Key:               &fullKey,
		ChecksumAlgorithm: b.partChecksum(),
	})
	if err != nil {
		return err
	}
	parts, err := b.uploadParts(ctx, fullKey, upload.UploadId, body)
	if err != nil {
		b.abort(ctx, fullKey, upload.UploadId)
		return err
	}
	out, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket:          &b.name,
		Key:             &fullKey,
		UploadId:        upload.UploadId,
		IfNoneMatch:     aws.String(anyObject),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	switch {
	case isRefused(err), statusOf(err) == 409:
		b.abort(ctx, fullKey, upload.UploadId)
		return err
	case err != nil:
		// The completion may be done or still at work, so its parts are left
		// alone (F29).
		return err
	case aws.ToString(out.ETag) == "":
		return errNoETag
	}
	return nil
}

func (b *Bucket) uploadParts(ctx context.Context, fullKey string, upload *string, body section) ([]types.CompletedPart, error) {
	size := max(b.sizes.part, (body.size+maxParts-1)/maxParts)
	var parts []types.CompletedPart
	for offset := int64(0); offset < body.size; offset += size {
		number := aws.Int32(int32(len(parts) + 1)) // at most maxParts
		part := section{body: body.body, start: body.start + offset, size: min(size, body.size-offset)}
		part.last = offset+part.size == body.size
		out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket:            &b.name,
			Key:               &fullKey,
			UploadId:          upload,
			PartNumber:        number,
			Body:              part.reader(),
			ChecksumAlgorithm: b.partChecksum(),
		})
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", *number, err)
		}
		if aws.ToString(out.ETag) == "" {
			return nil, errNoETag
		}
		parts = append(parts, types.CompletedPart{
			ETag:          out.ETag,
			PartNumber:    number,
			ChecksumCRC32: out.ChecksumCRC32,
		})
	}
	return parts, nil
}

// partChecksum is the checksum that the three requests of an upload in parts must
// agree on, if the client sends any: what it adds by itself to the parts alone
// would not be what the upload was begun with.
func (b *Bucket) partChecksum() types.ChecksumAlgorithm {
	if b.client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenSupported {
		return types.ChecksumAlgorithmCrc32
	}
	return ""
}

func (b *Bucket) abort(ctx context.Context, fullKey string, upload *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	_, _ = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: &fullKey, UploadId: upload})
}

// section is a range of a seekable body. Sections of one body are read one after
// the other.
type section struct {
	body        io.ReadSeeker
	start, size int64
	// last says that the body ends where the section does.
	last bool
}

func (s section) reader() *sectionReader { return &sectionReader{section: s} }

// sectionReader reads a section as if it were a whole body.
type sectionReader struct {
	section
	at int64
	// placed says that the body stands at start+at.
	placed bool
}

func (r *sectionReader) Read(p []byte) (int, error) {
	if r.at >= r.size {
		return 0, r.end()
	}
	if !r.placed {
		if _, err := r.body.Seek(r.start+r.at, io.SeekStart); err != nil {
			return 0, err
		}
		r.placed = true
	}
	n, err := r.body.Read(p[:min(int64(len(p)), r.size-r.at)])
	r.at += int64(n)
	if err == io.EOF && r.at < r.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// end returns io.EOF, unless the body fails or goes on where its size says it ends.
func (r *sectionReader) end() error {
	if !r.last || !r.placed {
		return io.EOF
	}
	n, err := r.body.Read(make([]byte, 1))
	r.placed = n == 0
	if n > 0 {
		return errors.New("the body grew while it was read")
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

var errSeek = errors.New("seeking before the beginning of a part")

func (r *sectionReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errSeek
	}
	r.placed = r.placed && offset == r.at
	r.at = offset
	return offset, nil
}
