package membucket_test

import (
	"testing"

	"pugmark.dev/conform/storage"
	"pugmark.dev/conform/storage/buckettest"
	"pugmark.dev/conform/storage/membucket"
)

func TestBucketContract(t *testing.T) {
	buckettest.Run(t, func(*testing.T) storage.Bucket { return new(membucket.Bucket) })
}
