#!/bin/sh
# Runs pugmark-conform as a gate: its exit status is the gate's, and whatever it is,
# the reports that could be written are where the outputs say. Status 2, and the
# verdict `error`, is what did not come to a report.
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
unset CDPATH # with it, cd prints

newline='
'
cr=$(printf '\r')
marker=.pugmark-conform-evidence # of the program's, in a folder of evidence
reports=''

# put NAME VALUE: one output.
put() {
  printf '%s=%s\n' "$1" "$2"
  if [ -n "${GITHUB_OUTPUT:-}" ]; then printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; fi
}
# there FILE: it is in the folder of this run.
there() { [ -n "$reports" ] && [ -e "$reports/$1" ]; }
# put_file NAME FILE: the path of a report, if it was written.
put_file() {
  if there "$2"; then put "$1" "$reports/$2"; else put "$1" ''; fi
}

# finish STATUS VERDICT: the outputs, the summary and the annotations, whatever came.
finish() {
  put verdict "$2"
  put status "$1"
  put_file report report.json
  put_file junit junit.xml
  put_file markdown summary.md
  put_file html report.html
  if there "evidence/$marker"; then put evidence "$reports/evidence"; else put evidence ''; fi

  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    if there summary.md; then
      cat "$reports/summary.md" >>"$GITHUB_STEP_SUMMARY"
    else
      printf '**pugmark-conform: no report** (exit status %s). The log of the step says why.\n' "$1" >>"$GITHUB_STEP_SUMMARY"
    fi
  fi
  if [ "${GITHUB_ACTIONS:-}" = true ]; then
    if there annotations.txt; then
      cat "$reports/annotations.txt"
    else
      printf '::error title=pugmark-conform%%3A no report::It ended with status %s before there was a report.\n' "$1"
    fi
  fi
  if there annotations.txt; then rm -f "$reports/annotations.txt"; fi
  exit "$1"
}
say() { printf 'pugmark-conform gate: %s\n' "$1" >&2; }
fail() {
  say "$1"
  reports=''
  finish 2 error
}

[ -n "${SUBJECT:-}" ] || fail 'SUBJECT is empty: name a subject file'
folder=${REPORTS:-pugmark-conform-reports}
program=${PROGRAM:-pugmark-conform}
case "$SUBJECT${KNOWN_FAILURES:-}$folder" in
*"$newline"*) fail 'SUBJECT, KNOWN_FAILURES and REPORTS are one line each' ;;
esac
mkdir -p -- "$folder" || fail "the folder $folder can't be made"
reports=$(cd -- "$folder" && pwd) || fail "the folder $folder can't be entered"

# What an earlier run left must not be taken for this one's. Of evidence, what has the
# mark of the program: another folder of that name is somebody's own.
rm -f "$reports/report.json" "$reports/junit.xml" "$reports/summary.md" "$reports/report.html" "$reports/annotations.txt" ||
  fail "the reports of an earlier run can't be removed from $folder"
if there "evidence/$marker"; then
  rm -rf "$reports/evidence" || fail "the evidence of an earlier run can't be removed from $folder"
fi

set -- run --subject "$SUBJECT" --evidence "$reports/evidence" \
  --output "json=$reports/report.json" --output "junit=$reports/junit.xml" \
  --output "markdown=$reports/summary.md" --output "html=$reports/report.html" \
  --output "github=$reports/annotations.txt"
if [ -n "${KNOWN_FAILURES:-}" ]; then
  set -- "$@" --known-failures "$KNOWN_FAILURES"
fi
while IFS= read -r argument || [ -n "$argument" ]; do
  argument=${argument%"$cr"}
  if [ -n "$argument" ]; then set -- "$@" "$argument"; fi
done <<ARGUMENTS_END
${ARGUMENTS:-}
ARGUMENTS_END

"$program" "$@" </dev/null
status=$?

# The exit status rules, once there is a report; 0 is believed with one that agrees.
said=''
if there report.json; then
  said=$(sed -n 's/^ *"verdict": *"\([a-z-]*\)".*/\1/p' "$reports/report.json" | sed -n 1p)
fi
verdict=error
case $status:$said in
0:conformant | 0:as-expected) verdict=$said ;;
1:?*) verdict=not-conformant ;;
3:?*) verdict=incomplete ;;
0:* | 1:* | 3:*)
  say "it ended with $status, and its report says ${said:-nothing}"
  status=2
  ;;
esac
finish "$status" "$verdict"
