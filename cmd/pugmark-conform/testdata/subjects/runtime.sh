#!/bin/sh
# See runtime.yaml. Its log is as bare as it is.
operation=$1 session=$2
if [ "$operation" = remain ]; then
	trap '' TERM HUP INT
	while :; do sleep 1; done
fi
if [ "$operation" = start ]; then
	case $CONDUCT in
	prints-nonsense) echo 'session started!' ;;
	*) echo "$session" ;;
	esac
fi
if [ "$operation-$CONDUCT" = log-prints-nonsense-log ]; then
	echo 'this is the log'
fi
[ "$operation" = run ] || exit 0
case $session in bad*) ;; *) exit 0 ;; esac
case $CONDUCT in
run-never-ends)
	trap '' TERM HUP INT
	[ -z "$READY" ] || echo >"$READY"
	exec sh "$0" remain
	;;
run-floods) exec yes "$0" ;;
run-dies-by-sigkill) kill -KILL $$ ;;
run-dies-by-sigsegv) kill -SEGV $$ ;;
run-exits-1) echo 'no such session' >&2; exit 1 ;;
run-leaves-processes)
	trap '' TERM
	sh "$0" remain &
	setsid sh "$0" remain &
	;;
esac
