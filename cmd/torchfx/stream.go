package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/torchfx-go/torchfx/internal/wholefile"
)

// openInput opens the file name for reading; "-" is the standard input of cmd,
// which closing leaves open.
func openInput(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	return os.Open(name)
}

// seekable returns the name of a file with the content of name: name itself, or,
// for "-", a temporary one with what standard input has, which remove deletes.
func seekable(cmd *cobra.Command, name string) (path string, remove func(), err error) {
	if name != "-" {
		return name, func() {}, nil
	}
	f, err := os.CreateTemp("", "torchfx-*.pt2")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.Remove(f.Name()) }
	_, err = io.Copy(f, cmd.InOrStdin())
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}

// writeOutput lets write fill the file name; "-" is the standard output of cmd.
// A failure leaves no half of a file and an older one untouched.
func writeOutput(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(cmd.OutOrStdout())
	}
	return wholefile.Write(name, write)
}

// printJSON writes v to the standard output of cmd, indented and with a newline.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// showsProgress reports whether cmd may draw on standard error: it is a terminal
// and --quiet is not given.
func showsProgress(cmd *cobra.Command) bool {
	if quiet, _ := cmd.Flags().GetBool("quiet"); quiet {
		return false
	}
	f, ok := cmd.ErrOrStderr().(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
