#!/bin/sh
# Installs pugmark-conform for a job, with the cases inside, and prints its path.
#
#   VERSION   what to install; empty builds what this script lies in
#   INTO      the folder to install into (default: a new one below RUNNER_TEMP or TMPDIR)
#
# Under GitHub Actions the path is the step's output `program` too.
set -eu
unset CDPATH # with it, cd prints

fail() { printf 'pugmark-conform gate: %s\n' "$1" >&2; exit 2; }

case "${VERSION:-}${INTO:-}" in
*'
'*) fail 'VERSION and INTO are one line each' ;;
esac
command -v go >/dev/null 2>&1 || fail 'the Go tool is not there; set it up in a step before this one'
above=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
into=${INTO:-$(mktemp -d "$above/pugmark-conform.XXXXXX")} || fail "a folder can't be made below $above"
mkdir -p -- "$into" || fail "the folder $into can't be made"
into=$(cd -- "$into" && pwd) || fail "the folder $into can't be entered"
# For these commands alone: the Go tool, from 1.21 on, gets the version that is asked for.
export GOTOOLCHAIN=auto
if [ -n "${VERSION:-}" ]; then
  GOBIN=$into CGO_ENABLED=0 go install "pugmark.dev/conform/cmd/pugmark-conform@$VERSION" ||
    fail "version $VERSION can't be installed"
else
  source=$(cd -- "$(dirname -- "$0")/.." && pwd) || fail 'the folder of the sources is gone'
  (cd "$source" && CGO_ENABLED=0 go build -trimpath -o "$into/pugmark-conform" ./cmd/pugmark-conform) ||
    fail "$source can't be built"
fi
[ -x "$into/pugmark-conform" ] || fail "there is no program in $into"
printf '%s\n' "$into/pugmark-conform"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'program=%s\n' "$into/pugmark-conform" >>"$GITHUB_OUTPUT"
fi
