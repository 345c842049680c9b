#!/bin/sh
# Says whether the Go tool that is there can build pugmark-conform. From 1.21 on it gets
# the version that a module asks for by itself, and leaves what a job has set up alone.
#
# Under GitHub Actions the answer, true or false, is the step's output `found`.
set -u

found=false
# Not in the job's own module, whose go.mod could ask for another version.
case $(cd / && GOTOOLCHAIN=local go env GOVERSION 2>/dev/null) in
go1.2[1-9]* | go1.[3-9][0-9]* | go1.[1-9][0-9][0-9]* | go[2-9]* | devel*) found=true ;;
esac
printf 'found=%s\n' "$found"
if [ -n "${GITHUB_OUTPUT:-}" ]; then printf 'found=%s\n' "$found" >>"$GITHUB_OUTPUT"; fi
