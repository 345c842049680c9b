package s3bucket

// SetPartSizes makes bodies from a size on go up in parts of another size, and
// limits those that go up at once; all in bytes.
func (b *Bucket) SetPartSizes(from, part, single int64) {
	b.sizes.parts, b.sizes.part, b.sizes.single = from, part, single
}
