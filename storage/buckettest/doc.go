// Package buckettest is the contract of [storage.Bucket] as one test suite, which
// every bucket passes, decorators included, and the decorators that tests of the
// layers above need: [Faulty] fails or crashes at a chosen write, [Reordered]
// lists in a chosen order.
package buckettest
