package result

// pieces is what stands in values, cut into parts of [pieceSize] bytes, so that it can
// be told whether a text has a part of a value: one that was cut, dumped in lines, or
// put into quotes.
type pieces map[[pieceSize]byte]bool

const pieceSize = 4

// add adds a value, and what can be seen of it in base64.
func (p pieces) add(value string) {
	for _, form := range append(inBase64(pattern{text: value}), pattern{text: value}) {
		text := foldText(form.text)
		for i := 0; i+pieceSize <= len(text); i++ {
			p[[pieceSize]byte([]byte(text[i:i+pieceSize]))] = true
		}
	}
}

// HasPart reports whether a text has that many bytes of a value, or more, one after
// the other, whether a value stands there whole or not. Less than four can't be told.
// Of small letters alone it takes twice as many: a value may have words in it that
// every text has.
func (m *Mask) HasPart(text string, size int) bool {
	if m == nil {
		return false
	}
	data, run, letters := foldText(text), pieceSize-1, 0
	for i := range len(data) {
		if letters++; data[i] < 'a' || data[i] > 'z' {
			letters = 0
		}
		if i+1 < pieceSize || !m.pieces[[pieceSize]byte([]byte(data[i+1-pieceSize:i+1]))] {
			run = pieceSize - 1
			continue
		}
		if run++; run >= size && letters < run || run >= 2*size {
			return true
		}
	}
	return false
}
