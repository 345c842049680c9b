package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pugmark.dev/conform/protocol"
	"pugmark.dev/conform/stage"
)

// reproHead begins every run.sh. The variables of an invocation that whoever runs it
// happens to have are none of this one.
const reproHead = `unset CDPATH # with it, cd prints
here=$(cd "$(dirname "$0")" && pwd) || exit 2
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null ||
  { echo 'run.sh: python3, 3.8 or later, is needed: it serves what the input names' >&2; exit 2; }
out=$here/out
rm -rf "$out" && mkdir "$out" || exit 2
repro() { "$python" "$here/repro.py" "$@"; }
server='' handler=''
# over: end whoever is left, and wait for it. A signal to a process that the shell has
# only just forked can be lost, so that a file tells it too.
over() {
  : >"$out/over"
  for p in $server $handler; do kill "$p" 2>/dev/null; done
  for p in $server $handler; do wait "$p" 2>/dev/null; done
}
trap over EXIT
trap 'exit 2' HUP INT TERM
unset PUGMARK_AGENT_ID PUGMARK_SESSION_ID PUGMARK_SESSION_METADATA PUGMARK_RPC_URL TRACEPARENT TRACESTATE

# begin N: serve the bodies that invocation N names; out/N.input is its input.
begin() {
  mkfifo "$out/$1.ready" || exit 2
  "$python" "$here/repro.py" serve "$1" 9>"$out/$1.ready" & server=$!
  read -r answer <"$out/$1.ready"
  [ "$answer" = ready ] || { echo "run.sh: ${answer:-repro.py did not start}" >&2; exit 2; }
}
# end N HOW: the invocation is over.
end() {
  [ -s "$out/$1.end" ] || echo "$2" >"$out/$1.end"
  kill "$server" 2>/dev/null
  wait "$server" 2>/dev/null
  server=''
}
`

const reproSubprocess = `# finish N: wait for repro.py, which ends the handler and all that it started when its
# time is up, when it writes too much, and after it.
finish() {
  wait "$handler" 2>/dev/null
  status=$?
  handler=''
  [ -s "$out/$1.end" ] || [ "$status" -eq 126 ] || { echo 'run.sh: repro.py could not play the handler:' >&2; cat "$out/$1.stderr" >&2; exit 2; }
  end "$1" "exit $status"
}
`

const reproService = `command -v curl >/dev/null 2>&1 || { echo 'run.sh: curl, 7.63 or later, is needed' >&2; exit 2; }
# post N QUERY HEADER...: one invocation, all of its input at once.
post() {
  n=$1 target=$2
  shift 2
  {
    curl -q --silent --show-error --globoff --noproxy '*' --http1.1 --max-time "$limit" -H 'Expect:' "$@" \
      --data-binary "@$out/$n.input" --write-out '%{stderr}\n%{http_code}\n' "${url%/}$target" 2>"$out/$n.curl"
    echo $? >"$out/$n.status"
  } | repro keep "$n" >"$out/$n.outputs"
  answered "$n" "$(cat "$out/$n.status")" "$(tail -n 1 "$out/$n.curl")"
}
# answered N STATUS CODE: what curl's exit status, or that of its stand-in, says, unless
# the handler had to be ended.
answered() {
  if grep -q '^flood' "$out/handler.end" 2>/dev/null; then cp "$out/handler.end" "$out/$1.end"; fi
  case $2 in
  0) end "$1" "answer $3" ;;
  28) end "$1" hang ;;
  *) end "$1" 'no whole answer' ;;
  esac
}
# stop: tell repro.py to end the handler's process, after two seconds by force.
stop() {
  [ -n "$handler" ] || return 0
  kill "$handler" 2>/dev/null
  wait "$handler" 2>/dev/null
  handler=''
}
`

// script is run.sh.
func (p *reproPlan) script(r *recorded) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/sh")
	line("# Plays %s to the handler over %s, without the harness.", p.Case, p.Transport)
	line("#")
	line("#     ./run.sh                     the handler that the failure is of")
	line("#     ./run.sh COMMAND [ARG...]    another one, in place of it")
	if p.Transport == protocol.TransportHTTP {
		line("#     URL=http://... ./run.sh      one that is running already; {port} in a COMMAND is a free port")
	}
	line("#")
	line("# Exit status: 0 the handler behaves, 1 the failure shows, 2 neither can be told.")
	line("# What the handler wrote is in out/ afterwards.")
	b.WriteString(reproHead)
	line("limit=%d # seconds", p.Limit)
	if p.Transport == protocol.TransportSubprocess {
		b.WriteString(reproSubprocess)
	} else {
		b.WriteString(reproService)
	}
	p.command(line, r)
	for i := range p.Invocations {
		p.play(line, i)
	}
	if p.Transport != protocol.TransportSubprocess {
		line("stop")
	}
	line("\nrepro check")
	return b.String()
}

// command sets the arguments of the script to the handler's command line, and dir to
// the folder that it runs in.
func (p *reproPlan) command(line func(string, ...any), r *recorded) {
	dir := "."
	switch {
	case r.command == nil && p.Transport == protocol.TransportHTTP:
		line(`[ $# -gt 0 ] || [ -n "${URL:-}" ] || { echo 'run.sh: the command of this service is not known: give it as arguments, or set URL' >&2; exit 2; }`)
	case r.command == nil:
		line(`[ $# -gt 0 ] || { echo 'run.sh: the command of the handler is not known: give it as arguments' >&2; exit 2; }`)
	case len(r.command.Args) == 0: // the user runs it
		line(`[ $# -gt 0 ] || URL=${URL:-%s}`, shellQuoted(r.command.URL))
	default:
		words := make([]string, len(r.command.Args))
		for i, word := range r.command.Args {
			words[i] = shellQuoted(word)
		}
		if len(words) == 1 && r.command.Env == nil { // as recorded, in a shell's words
			words[0] = r.command.Args[0]
		}
		if r.command.Dir != "" {
			dir = r.command.Dir
		}
		line(`[ $# -gt 0 ] || set -- %s`, strings.Join(words, " "))
	}
	line("dir=%s # where it runs", shellQuoted(dir))
}

// play is the lines that make one invocation.
func (p *reproPlan) play(line func(string, ...any), i int) {
	inv, n := p.Invocations[i], i+1
	what := ""
	if inv.Role == stage.RoleControl {
		what = ", the control, which shows that the handler is at work"
	}
	line("\n# Invocation %d of %d%s.", n, len(p.Invocations), what)
	if p.Transport == protocol.TransportSubprocess {
		line("begin %d", n)
		from := fmt.Sprintf(`<"$out/%d.input"`, n)
		if inv.slow {
			line("repro feed %d | # not all at once", n)
			from = ""
		}
		line("(")
		line(`  cd "$dir" || exit 126`)
		exports(line, inv.variables)
		line(`  exec "$python" "$here/repro.py" play %d "$limit" "$@"`, n)
		line(`) %s>"$out/%d.outputs" 2>"$out/%d.stderr" & handler=$!`, spaced(from), n, n)
		line("finish %d", n)
		return
	}
	p.serve(line, i)
	line("begin %d", n)
	if inv.slow {
		line(`code=$(repro post %d "$url") # not all at once`, n)
		line(`answered %d $? "$code"`, n)
		return
	}
	words := []string{"post", fmt.Sprint(n), shellQuoted(inv.Target)}
	for _, h := range inv.Headers {
		words = append(words, "-H", shellQuoted(h[0]+": "+h[1]))
	}
	line("%s", strings.Join(words, " "))
}

// serve starts the handler's process, unless the one of the invocation before it goes
// on.
func (p *reproPlan) serve(line func(string, ...any), i int) {
	inv := p.Invocations[i]
	if i > 0 && maps.Equal(inv.variables, p.Invocations[i-1].variables) {
		return
	}
	start := `exec "$python" "$here/repro.py" rpc "$@"`
	if p.Transport == protocol.TransportHTTP {
		url := "http://127.0.0.1:{port}/"
		if p.url != "" {
			url = p.url
		}
		line(`url=${URL:-}`)
		line(`if [ -z "$url" ]; then`)
		start = fmt.Sprintf(`exec "$python" "$here/repro.py" http %s "$@"`, shellQuoted(url))
	}
	line("stop")
	line(`rm -f "$out/handler.end"`)
	line(`mkfifo "$out/url.%d" || exit 2`, i+1)
	line("(")
	line(`  cd "$dir" || exit 126`)
	exports(line, inv.variables)
	line("  %s", start)
	line(`) </dev/null >>"$out/handler.stdout" 2>>"$out/handler.stderr" 9>"$out/url.%d" & handler=$!`, i+1)
	line(`read -r url <"$out/url.%d"`, i+1)
	line(`[ -n "$url" ] || { echo 'run.sh: repro.py did not start' >&2; exit 2; }`)
	if p.Transport == protocol.TransportHTTP {
		line(`fi`)
		line(`repro wait "$url" || exit 2`)
		// The target of an invocation has the URL's path and query already.
		line(`url=$(repro root "$url")`)
	}
}

func exports(line func(string, ...any), variables map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if name != protocol.EnvRPCURL { // which goes with the descriptor
			line("  export %s=%s", name, shellQuoted(variables[name]))
		}
	}
}

func spaced(word string) string {
	if word == "" {
		return ""
	}
	return word + " "
}
