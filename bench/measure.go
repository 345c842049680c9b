package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const mebibyte = 1 << 20

// peak is what a finished program took.
type peak struct {
	// memory is the most that was resident at a time, in bytes.
	memory int64
	took   time.Duration
	stdout string
}

// sampleEvery is how often a program's memory is looked at.
const sampleEvery = 2 * time.Millisecond

// watch runs a program and samples the high-water mark of its resident memory. What
// the kernel tells at the end would not do: it counts in what the parent had when
// it forked.
func watch(ctx context.Context, command ...string) (peak, error) {
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	var stdout, stderr bytes.Buffer
	program.Stdout, program.Stderr = &stdout, &stderr
	begun := time.Now()
	if err := program.Start(); err != nil {
		return peak{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	var memory int64
	for {
		if mark, err := highWater(program.Process.Pid); err == nil {
			memory = max(memory, mark)
		}
		select {
		case err := <-ended:
			if err == nil && memory == 0 {
				err = errors.New("the system does not tell the memory of processes")
			}
			if err != nil {
				return peak{}, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, stderr.String())
			}
			return peak{memory, time.Since(begun), stdout.String()}, nil
		case <-time.After(sampleEvery):
		}
	}
}

// highWater reads a process's VmHWM, in bytes.
func highWater(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, errors.New("no VmHWM")
}

// processorTime is what this process has used of processors, which other load on
// the machine changes little.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func mebibytes(bytes int64) float64        { return float64(bytes) / mebibyte }
