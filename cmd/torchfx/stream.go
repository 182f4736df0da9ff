package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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
// A file is written aside and renamed, so that a failure leaves no half of it
// and an older one untouched.
func writeOutput(cmd *cobra.Command, name string, write func(io.Writer) error) error {
	if name == "-" {
		return write(cmd.OutOrStdout())
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
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
