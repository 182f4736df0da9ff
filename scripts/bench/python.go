package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx/internal/install"
)

// A python is the other side, in a process of its own.
type python struct {
	cmd     *exec.Cmd
	in      *bufio.Writer
	out     *bufio.Scanner
	closeIn func() error
	version string
}

func startPython(script string, args ...string) (*python, error) {
	exe := filepath.Join(install.Home(), "reference", "bin", "python")
	if _, err := os.Stat(exe); err != nil {
		return nil, fmt.Errorf("the Python reference is not there; run make reference: %w", err)
	}
	cmd := exec.Command(exe, append([]string{filepath.Join("scripts", "bench", script)}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &python{cmd: cmd, in: bufio.NewWriter(in), out: bufio.NewScanner(out), closeIn: in.Close}
	if !p.out.Scan() {
		return nil, errors.New("the Python side did not start")
	}
	p.version = "PyTorch " + strings.TrimPrefix(p.out.Text(), "ready ")
	return p, nil
}

func (p *python) run(name string, times int) (time.Duration, error) {
	fmt.Fprintf(p.in, "%s %d\n", name, times)
	if err := p.in.Flush(); err != nil {
		return 0, err
	}
	if !p.out.Scan() {
		return 0, errors.New("the Python side has ended")
	}
	ns, err := strconv.ParseInt(p.out.Text(), 10, 64)
	return time.Duration(ns), err
}

func (p *python) close() {
	_ = p.closeIn()
	_ = p.cmd.Wait()
}
