package protocol

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// MaxSleep is the longest sleep that a pause can ask for; longer ones are clamped
// to it (section 10, P10/clamp).
const MaxSleep = 10 * time.Minute

// ClampSleep limits a sleep to the range from zero to [MaxSleep] (section 10).
func ClampSleep(d time.Duration) time.Duration { return min(max(d, 0), MaxSleep) }

// DurationError says why a text is no duration of section 10.
type DurationError struct {
	// Text is the whole text.
	Text string
	// Offset is where in Text the fault is, in bytes from 0.
	Offset int
	// Want is what should have stood there.
	Want string
}

// Error gives one sentence with the text, the place and what was wanted.
func (e *DurationError) Error() string {
	return fmt.Sprintf("duration %.64q: want %s at byte %d", e.Text, e.Want, e.Offset)
}

// ParseDuration reads a duration as section 10 writes it: one or more decimal
// numbers, each with an optional fraction and a unit out of ns, us, µs, ms, s, m
// and h, with nothing between or around. There is no sign and no exponent, a
// point has digits on both sides, and a number always has its unit, zero too
// (reading R34). Units may come in any order and more than once; they add up.
//
// The µ may be U+00B5, the micro sign, as the text has it, or U+03BC, the Greek
// letter: Unicode normalisation (NFKC) turns the first into the second, so a
// peer can't be sure which of them it sends. What is less than a nanosecond is cut
// off. A duration that is too long for a [time.Duration] is no error: it gives the
// longest one there is, which [ClampSleep] brings down like any other over the
// limit (reading R26).
//
// The error is a [*DurationError]; what it means for a pause is reading R7.
func ParseDuration(text string) (time.Duration, error) {
	fail := func(rest, want string) (time.Duration, error) {
		return 0, &DurationError{Text: text, Offset: len(text) - len(rest), Want: want}
	}
	if text == "" {
		return fail(text, "a digit")
	}
	var total uint64
	for rest := text; rest != ""; {
		whole, fraction := leadingDigits(rest), ""
		if whole == "" {
			return fail(rest, "a digit")
		}
		rest = rest[len(whole):]
		if after, found := strings.CutPrefix(rest, "."); found {
			if fraction = leadingDigits(after); fraction == "" {
				return fail(after, "a digit")
			}
			rest = after[len(fraction):]
		}
		unit, name := durationUnit(rest)
		if unit == 0 {
			return fail(rest, "a unit (ns, us, ms, s, m, h)")
		}
		rest = rest[len(name):]
		total = addClamped(total, nanoseconds(whole, fraction, unit))
	}
	return time.Duration(total), nil
}

// FormatDuration writes a duration in the grammar of section 10, so that
// [ParseDuration] gives exactly d again. It is plain ASCII, and zero is "0s". The
// grammar has no sign: a negative duration is written as zero.
func FormatDuration(d time.Duration) string {
	return strings.Replace(max(d, 0).String(), "µs", "us", 1)
}

// leadingDigits returns the decimal digits that text begins with.
func leadingDigits(text string) string {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n]
}

// durationUnit returns the unit that text begins with, in nanoseconds, or 0.
// Longer names come first, since "m" begins "ms".
func durationUnit(text string) (uint64, string) {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{
		{"ns", time.Nanosecond},
		{"us", time.Microsecond},
		{"\u00b5s", time.Microsecond},
		{"\u03bcs", time.Microsecond},
		{"ms", time.Millisecond},
		{"s", time.Second},
		{"m", time.Minute},
		{"h", time.Hour},
	} {
		if strings.HasPrefix(text, u.name) {
			return uint64(u.unit), u.name
		}
	}
	return 0, ""
}

// nanoseconds multiplies a decimal number by a unit, no more than the longest
// duration. Integers keep it exact where a float would not.
func nanoseconds(whole, fraction string, unit uint64) uint64 {
	var number uint64
	for _, c := range []byte(whole) {
		digit := uint64(c - '0')
		if number > (math.MaxInt64-digit)/10 {
			return math.MaxInt64
		}
		number = number*10 + digit
	}
	high, low := bits.Mul64(number, unit)
	if high != 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	// 18 digits are what fits; the rest is far less than a nanosecond.
	var part uint64
	scale := uint64(1)
	for _, c := range []byte(fraction[:min(len(fraction), 18)]) {
		part = part*10 + uint64(c-'0')
		scale *= 10
	}
	// part < scale, and a unit is less than 2^64, so the quotient fits.
	partHigh, partLow := bits.Mul64(part, unit)
	quotient, _ := bits.Div64(partHigh, partLow, scale)
	return addClamped(low, quotient)
}

// addClamped adds two durations, no more than the longest one.
func addClamped(a, b uint64) uint64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
