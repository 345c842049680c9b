// Package s3test starts a real S3 server for tests: versitygw on a folder, which
// is installed by the go command on first use, into the user's cache folder.
//
// No program may import it. Start reading at [Start].
package s3test
