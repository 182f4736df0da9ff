package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"
)

// A process is a worker that has loaded its network; package scripts/bench/worker has
// the lines that it takes.
type process struct {
	in         io.WriteCloser
	out        *bufio.Scanner
	wait       func() error
	version    string
	base       int64 // resident bytes before the network was loaded
	difference float64
}

// errAbsent is of an executor that does not work for a network; its text says why.
type errAbsent string

func (e errAbsent) Error() string { return string(e) }

// start runs a worker and waits until its network is ready.
func (e executor) start(folder string, threads int) (*process, error) {
	cmd, err := e.command(folder, threads)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the benchmark's alone
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.WaitDelay = 10 * time.Second // processes of a compiler may hold its output
	p := &process{wait: cmd.Wait}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for p.out.Scan() { // libraries may print before
		if why, ok := strings.CutPrefix(p.out.Text(), "no "); ok {
			p.close()
			return nil, errAbsent(why)
		}
		if facts, ok := strings.CutPrefix(p.out.Text(), "ready "); ok {
			parts := strings.Split(facts, "|")
			if len(parts) != 3 {
				p.close()
				return nil, fmt.Errorf("expected a version, bytes and a difference, got %q", facts)
			}
			p.version = parts[0]
			_, err := fmt.Sscan(parts[1]+" "+parts[2], &p.base, &p.difference)
			return p, err
		}
	}
	p.close()
	text := complaints.String()
	return nil, fmt.Errorf("the worker ended: %s", text[max(len(text)-1000, 0):])
}

// ask sends a line and reads the numbers of the answer.
func (p *process) ask(line string, into ...any) error {
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return err
	}
	if !p.out.Scan() {
		return errors.New("the worker ended")
	}
	_, err := fmt.Sscan(p.out.Text(), into...)
	return err
}

// run is how long a number of runs took, on the clock and of the processors.
func (p *process) run(times int) (wall, cpu time.Duration, err error) {
	return wall, cpu, p.ask(fmt.Sprintf("run %d", times), (*int64)(&wall), (*int64)(&cpu))
}

func (p *process) close() {
	_ = p.in.Close()
	_ = p.wait()
}
