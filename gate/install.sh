#!/bin/sh
# Installs pugmark-conform for a job, with the cases inside, and prints its path.
#
#   VERSION   what to install; empty builds what this script lies in
#   INTO      the folder to install into (default: a new one below RUNNER_TEMP or TMPDIR)
#
# Under GitHub Actions the path is the step's output `program` too.
set -eu

fail() { printf 'pugmark-conform gate: %s\n' "$1" >&2; exit 2; }

case "${VERSION:-}${INTO:-}" in
*'
'*) fail 'VERSION and INTO are one line each' ;;
esac
command -v go >/dev/null 2>&1 || fail 'the Go tool is not there; set it up in a step before this one'
into=${INTO:-$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/pugmark-conform.XXXXXX")}
mkdir -p "$into"
into=$(cd "$into" && pwd)
if [ -n "${VERSION:-}" ]; then
  GOBIN=$into CGO_ENABLED=0 go install "pugmark.dev/conform/cmd/pugmark-conform@$VERSION" ||
    fail "version $VERSION can't be installed"
else
  source=$(cd "$(dirname "$0")/.." && pwd)
  (cd "$source" && CGO_ENABLED=0 go build -trimpath -o "$into/pugmark-conform" ./cmd/pugmark-conform) ||
    fail "$source can't be built"
fi
printf '%s\n' "$into/pugmark-conform"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'program=%s\n' "$into/pugmark-conform" >>"$GITHUB_OUTPUT"
fi
