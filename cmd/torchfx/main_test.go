package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"torchfx": main, "torchfx-measured": measured})
}

// measured is torchfx that tells the most memory it had, in KiB, on standard error
// as its last word; nothing on systems that do not tell.
func measured() {
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Fprintln(os.Stderr, strings.Fields(peak)[0])
		}
	}
	os.Exit(code)
}

// TestCommandsHaveExamples: so that --help shows how each is used.
func TestCommandsHaveExamples(t *testing.T) {
	for _, cmd := range newRootCommand().Commands() {
		assert.Contains(t, cmd.Example, "torchfx "+cmd.Name(), cmd.Name())
		assert.NotEmpty(t, cmd.Long, cmd.Name())
	}
}

// TestScripts runs the sessions in testdata. Each has a home of its own, nothing
// set up in it, and the shell's own tools on PATH; beside testscript's commands
// it knows
//
//	exits CODE torchfx ARGS…    the command must end with exactly that code
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("TORCHFX_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			self, err := exec.LookPath("torchfx")
			env.Setenv("SELF", self) // for scripts that take PATH away
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code of %v: expected %d, got %d", args[1:], want, got)
	}
}
