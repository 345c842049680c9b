package protocol_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pugmark.dev/conform/protocol"
)

func TestDurationsOfTheGrammar(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"300ms":                               300_000_000,
		"1.5s":                                1_500_000_000,
		"2h30m":                               9_000_000_000_000,
		"60.00s":                              60_000_000_000, // what the published SDK sends
		"0s":                                  0,
		"0.0h":                                0,
		"007s":                                7_000_000_000,
		"1ns":                                 1,
		"250us":                               250_000,
		"250\u00b5s":                          250_000,
		"250\u03bcs":                          250_000,
		"1m1ms":                               60_001_000_000,
		"1s1h1s":                              3_602_000_000_000,
		"0.000000001s":                        1,
		"1.9ns":                               1,
		"0." + strings.Repeat("3", 100) + "s": 333_333_333,
		"0.1234567890123456789s":              123_456_789,
		"0.1s0.2s":                            300_000_000,
		"2562047h47m16.854775807s":            math.MaxInt64,
		"9223372036854775807ns":               math.MaxInt64,
	} {
		got, err := protocol.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestDurationsTooLongAreClamped(t *testing.T) {
	for _, text := range []string{
		"9223372036854775808ns", "2562047h47m16.854775808s", "2562048h", "99999999999999999999s", strings.Repeat("9", 1000) + "h",
		"9223372036854775807ns1ns", "2562047h2562047h2562047h", "9223372036854775807h9223372036854775807h",
	} {
		got, err := protocol.ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, time.Duration(math.MaxInt64), got, text)
		require.Equal(t, 10*time.Minute, protocol.ClampSleep(got))
	}
}

func TestTextsOutsideTheGrammarAreNoDurations(t *testing.T) {
	for text, offset := range map[string]int{
		"-5s": 0, "+5s": 0, "5": 1, "0": 1, "1h 30m": 2, "1e3s": 1, ".5s": 0, "": 0, "5S": 1, // F48
		"5.s": 2, "5.": 2, "1.2.3s": 3, "s": 0, " 5s": 0, "5s ": 2, "5 s": 1, "1_000s": 1, "0x1s": 1, "5sec": 2,
		"1d": 1, "1h30": 4, "1,5s": 1, "5\u00b5": 1, "5M": 1, "٥s": 0, "infs": 0, "1h-30m": 2,
	} {
		_, err := protocol.ParseDuration(text)
		var fault *protocol.DurationError
		require.ErrorAs(t, err, &fault, text)
		require.Equal(t, text, fault.Text)
		require.Equal(t, offset, fault.Offset, text)
	}
}

func TestSleepsAreClamped(t *testing.T) {
	require.Equal(t, 10*time.Minute, protocol.MaxSleep)
	for d, want := range map[time.Duration]time.Duration{
		-1: 0, 0: 0, time.Second: time.Second, protocol.MaxSleep: protocol.MaxSleep,
		protocol.MaxSleep + 1: protocol.MaxSleep, math.MaxInt64: protocol.MaxSleep, math.MinInt64: 0,
	} {
		require.Equal(t, want, protocol.ClampSleep(d))
	}
}

func TestFormattedDurationsParseBack(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 500 * time.Millisecond: "500ms", 1500 * time.Millisecond: "1.5s", 250 * time.Microsecond: "250us", // F47
		90 * time.Minute: "1h30m0s", 1: "1ns", math.MaxInt64: "2562047h47m16.854775807s", time.Microsecond + 1: "1.001us",
	} {
		got := protocol.FormatDuration(d)
		require.Equal(t, want, got)
		back, err := protocol.ParseDuration(got)
		require.NoError(t, err)
		require.Equal(t, d, back)
	}
	require.Equal(t, "0s", protocol.FormatDuration(-time.Second))
}
