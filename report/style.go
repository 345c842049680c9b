package report

import "strings"

// style is how a text is marked on a terminal that has colors.
type style string

// The styles, as the parameters of the SGR sequence. They are from the eight
// colors that every scheme, light or dark, defines to be readable.
const (
	plainStyle style = ""
	bold       style = "1"
	dim        style = "2"
	red        style = "31"
	redBold    style = "1;31"
	green      style = "32"
	greenBold  style = "1;32"
	yellow     style = "33"
	yellowBold style = "1;33"
)

func (t *Terminal) paint(s style, text string) string {
	if !t.Color || s == plainStyle || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
