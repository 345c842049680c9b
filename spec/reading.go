package spec

// Reading is our answer to a question that the protocol leaves open. A check
// that rests on one cites its ID, so that a user who reads the protocol
// otherwise can leave such checks out.
type Reading struct {
	// ID is R and a number, as in "R28". It never changes its meaning once
	// released.
	ID string
	// Section is the section of the protocol that leaves the question open.
	Section Section
	// Also lists further sections that bear on it.
	Also []Section
	// Question is what the text does not say, or says in two ways.
	Question string
	// Reading is our answer: what checks assert and the reference does.
	Reading string
	// Accepts says what else passes, or who is not judged by the reading.
	// Empty means that nothing else passes.
	Accepts string
}

// Sections returns every section that bears on the question, the main one
// first.
func (r Reading) Sections() []Section {
	return append([]Section{r.Section}, r.Also...)
}
