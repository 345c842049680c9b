package reference

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// exiting reports whether a child of ours has ended or is ending; exited is closed once
// its status is known. A process closes its connections only after it was marked as
// ending, so whoever saw one closed by that sees the mark.
func exiting(pid int, exited <-chan struct{}) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		// Either it is gone, or this system shows no processes.
		return soon(exited)
	}
	// The name, in parentheses, may hold anything; behind it the state is the first
	// field, and the flags are the seventh (proc_pid_stat(5)).
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 7 {
		return soon(exited)
	}
	const endingFlag = 0x4 // PF_EXITING
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return fields[0][0] == 'Z' || fields[0][0] == 'X' || err == nil && flags&endingFlag != 0
}
