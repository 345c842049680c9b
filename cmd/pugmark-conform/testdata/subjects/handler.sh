#!/bin/sh
# See handler.yaml. With the argument remain it is a process that does not go away.
if [ "$1" = remain ]; then
	trap '' TERM HUP INT
	while :; do sleep 1; done
fi
case $PUGMARK_SESSION_ID in
bad*) ;;
*) exec pugmark-conform conform-handler ;;
esac
case $CONDUCT in
does-nothing) ;;
exits-1) exit 1 ;;
never-exits)
	trap '' TERM HUP INT
	[ -z "$READY" ] || echo >"$READY"
	exec sh "$0" remain
	;;
floods-stdout) exec yes "$0" ;;
floods-stderr) yes "$0" >&2 ;;
dies-by-sigkill) kill -KILL $$ ;;
dies-by-sigsegv) kill -SEGV $$ ;;
leaves-grandchild) sh "$0" remain & ;;
leaves-daemon) setsid sh "$0" remain & ;;
closes-stdin) exec <&-; sleep 0.2; echo '{"name":"late"}' ;;
writes-without-reading) echo '{"name":"early"}' ;;
prints-garbage) echo 'starting v1' ;;
*) echo "no such conduct: $CONDUCT" >&2; exit 9 ;;
esac
