package result

import (
	"regexp"
	"strings"
)

// StderrSays stands, in what a check got, before the line of stderr that says why a
// handler ended as it did.
const StderrSays = "; stderr says "

// diagnosticPatterns is how lines of diagnostics are told apart.
type diagnosticPatterns struct{ access, level, thrown, named *regexp.Regexp }

func newDiagnosticPatterns() diagnosticPatterns {
	return diagnosticPatterns{
		// The common log format, and what asynchronous Python servers write in its place.
		access: regexp.MustCompile(`^\S+ \S+ \S+ \[[^\]]*\] "[^"]*" \d{3}( |$)|^INFO: +\S+:\d+ - "[A-Z]+ \S+ HTTP/[0-9.]+" \d{3}( |$)`),
		level:  regexp.MustCompile(`(?i)^(trace|debug|info|note|notice|warn|warning|hint|help|log)\b`),
		thrown: regexp.MustCompile(`^(Exception in thread "[^"]*" |Caused by: |Uncaught |Unhandled (exception|rejection)[:.]? )?` +
			`([\w$]+[.:/]+)*\w*(Error|Exception|Exit|Interrupt|Panic|Failure|Fault)(: |$)` +
			`|^(panic|fatal error|fatal|error|FATAL|ERROR|runtime error|Segmentation fault|Killed|Aborted)(: |$| \()` +
			`|^thread '[^']*'( \(\d+\))? panicked at |: .* \([A-Z]\w*(::\w+)*(Error|Exception)\)$`),
		named: regexp.MustCompile(`^[A-Za-z_][\w.$]*(\[[^\]]*\])?: \S`),
	}
}

// DiagnosticLines is the lines that tell something of what a process wrote to stderr:
// without the empty ones, and without those in which a server logs a request that it
// answered.
func DiagnosticLines(text string) []string {
	p := newDiagnosticPatterns()
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line != "" && !p.access.MatchString(line) {
			all = append(all, line)
		}
	}
	return all
}

// DiagnosticReason is the place, in lines as [DiagnosticLines] gives them, of the one
// that says why a process did not do what it should: the last that looks like an
// exception or a panic with its message, else the last that begins with a name and a
// colon and is not of a log. It is -1 when there is none.
func DiagnosticReason(lines []string) int {
	p := newDiagnosticPatterns()
	for i := len(lines) - 1; i >= 0; i-- {
		if p.thrown.MatchString(lines[i]) {
			return i
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if p.named.MatchString(lines[i]) && !p.level.MatchString(lines[i]) {
			return i
		}
	}
	return -1
}

// panicPlace ends the line of a panic whose message stands on the next one.
const panicPlace = ":"

// DiagnosticSummary is what a process wrote to stderr in one line: the one that says
// why, for which isReason is set, else the last. It is empty when nothing was told.
func DiagnosticSummary(text string) (line string, isReason bool) {
	lines := DiagnosticLines(text)
	if len(lines) == 0 {
		return "", false
	}
	i := DiagnosticReason(lines)
	if i < 0 {
		return strings.TrimSpace(lines[len(lines)-1]), false
	}
	line = lines[i]
	if strings.HasPrefix(line, "thread '") && strings.HasSuffix(line, panicPlace) && i+1 < len(lines) {
		line += " " + strings.TrimSpace(lines[i+1])
	}
	return line, true
}
