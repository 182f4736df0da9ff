package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes, documented in doc.go.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns its exit code. An interrupt cancels
// the context of the command; a second one ends the process at once.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var silent silentError
	if errors.As(err, &silent) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "torchfx: %s\n", strings.TrimRight(err.Error(), "\n"))
	var failed *failedError
	if errors.As(err, &failed) && !errors.As(err, new(usageError)) {
		return exitFailed
	}
	fmt.Fprintf(stderr, "See %q.\n", cmd.CommandPath()+" --help")
	return exitUsage
}

// A failedError is what a command that was understood returned. Errors without
// it come from reading the command line.
type failedError struct{ err error }

func (e *failedError) Error() string { return e.err.Error() }
func (e *failedError) Unwrap() error { return e.err }

// A usageError is a mistake in the command line that only the command itself can
// see, such as two flags that exclude each other.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// usagef returns an error that ends the command with exit code 2.
func usagef(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

// A silentError ends the command with exit code 1 and prints nothing more: the
// command has already said what is wrong as part of its output.
type silentError struct{}

func (silentError) Error() string { return "failed" }

// errReported is returned by a RunE whose output already tells the failure.
var errReported error = silentError{}
