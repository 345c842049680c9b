#!/bin/sh
# Runs pugmark-conform as a gate: its exit status is the gate's, and whatever it is,
# the reports that could be written are where the outputs say.
#
#   SUBJECT          the subject file, or the name of a subject that is shipped
#   KNOWN_FAILURES   the known-failures file, or empty
#   ARGUMENTS        further arguments of `pugmark-conform run`, one a line
#   REPORTS          the folder for the reports (default: pugmark-conform-reports)
#   PROGRAM          the program (default: pugmark-conform)
#
# Under GitHub Actions the outputs are those of the step, the summary is appended to
# the step's, and annotations are printed.
set -u

newline='
'
fail() { printf 'pugmark-conform gate: %s\n' "$1" >&2; exit 2; }

[ -n "${SUBJECT:-}" ] || fail 'SUBJECT is empty: name a subject file'
reports=${REPORTS:-pugmark-conform-reports}
program=${PROGRAM:-pugmark-conform}
case "$SUBJECT${KNOWN_FAILURES:-}$reports" in
*"$newline"*) fail 'SUBJECT, KNOWN_FAILURES and REPORTS are one line each' ;;
esac
mkdir -p "$reports" || fail "the folder $reports can't be made"
reports=$(cd "$reports" && pwd) || fail "the folder $reports can't be entered"

# What an earlier run left must not be taken for this one's.
rm -f "$reports/report.json" "$reports/junit.xml" "$reports/summary.md" "$reports/report.html" "$reports/annotations.txt"

set -- run --subject "$SUBJECT" --evidence "$reports/evidence" \
  --output "json=$reports/report.json" --output "junit=$reports/junit.xml" \
  --output "markdown=$reports/summary.md" --output "html=$reports/report.html" \
  --output "github=$reports/annotations.txt"
if [ -n "${KNOWN_FAILURES:-}" ]; then
  set -- "$@" --known-failures "$KNOWN_FAILURES"
fi
while IFS= read -r argument || [ -n "$argument" ]; do
  if [ -n "$argument" ]; then set -- "$@" "$argument"; fi
done <<ARGUMENTS_END
${ARGUMENTS:-}
ARGUMENTS_END

"$program" "$@" </dev/null
status=$?

# The exit status rules. What the report calls the run is of use where there is one.
verdict=error
case $status in
0) verdict=$(sed -n 's/^ *"verdict": *"\([a-z-]*\)".*/\1/p' "$reports/report.json" | sed -n 1p) ;;
1) verdict=not-conformant ;;
3) verdict=incomplete ;;
esac
if [ "$status" -eq 0 ] && [ "$verdict" != conformant ] && [ "$verdict" != as-expected ]; then
  printf 'pugmark-conform gate: it ended with 0, and its report says %s\n' "${verdict:-nothing}" >&2
  status=2 verdict=error
fi

# put NAME VALUE: one output.
put() {
  printf '%s=%s\n' "$1" "$2"
  if [ -n "${GITHUB_OUTPUT:-}" ]; then printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; fi
}
# put_file NAME FILE: the path of a report, if it was written.
put_file() {
  if [ -e "$2" ]; then put "$1" "$2"; else put "$1" ''; fi
}
put verdict "$verdict"
put status "$status"
put_file report "$reports/report.json"
put_file junit "$reports/junit.xml"
put_file markdown "$reports/summary.md"
put_file html "$reports/report.html"
put_file evidence "$reports/evidence"

if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  if [ -e "$reports/summary.md" ]; then
    cat "$reports/summary.md" >>"$GITHUB_STEP_SUMMARY"
  else
    printf '**pugmark-conform: no report** (exit status %s). The log of the step says why.\n' "$status" >>"$GITHUB_STEP_SUMMARY"
  fi
fi
if [ "${GITHUB_ACTIONS:-}" = true ]; then
  if [ -e "$reports/annotations.txt" ]; then
    cat "$reports/annotations.txt"
  else
    printf '::error title=pugmark-conform%%3A no report::It ended with status %s before there was a report.\n' "$status"
  fi
fi
rm -f "$reports/annotations.txt"
exit "$status"
