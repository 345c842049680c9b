package report

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATextThatQuotesASubjectCommandsNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"all is well, a::b":                 "all is well, a::b",
		"lines\n    stay\n\n\tas they\tare": "lines\n    stay\n\n\tas they\tare",
		"::error::x":                        `\x3a:error::x`,
		"a\n    ::error file=x::y\nb":       "a\n    \\x3a:error file=x::y\nb",
		"a\n\t::add-mask::y\n":              "a\n\t\\x3a:add-mask::y\n",
		"a\tb ::c":                          "a\tb \\x3a:c",
		"said ##[error]y":                   `said \x23#[error]y`,
		"x\n##vso[task.complete]":           "x\n\\x23#vso[task.complete]",
		"##teamcity[x]":                     `\x23#teamcity[x]`,
		"# Title, ## [link]":                "# Title, ## [link]",
		"a\r::error::x":                     `a\r\x3a:error::x`,
		"\x1b[31mred\nb\r\n":                "\\x1b[31mred\nb\n",
	} {
		require.Equal(t, want, Inert(text), "%q", text)
	}
}
