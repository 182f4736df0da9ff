package main

import (
	"fmt"
	"os"
)

// numbers are those of the flags, with the least that each may be.
type numbers map[string]struct{ value, least int }

// checkFlags says what is wrong with the command line before anything is measured, which
// takes long. files are written in the end, by flag, "" for none.
func checkFlags(rest []string, n numbers, files map[string]string, resume bool) error {
	if len(rest) > 0 {
		return fmt.Errorf("expected flags alone, got %q", rest)
	}
	for name, x := range n {
		if x.value < x.least {
			return fmt.Errorf("-%s: expected at least %d, got %d", name, x.least, x.value)
		}
	}
	if resume && files["write"] == "" {
		return fmt.Errorf("-resume: expected -write FILE.md, beside which the cells that are there lie")
	}
	for name, file := range files {
		if file == "" {
			continue
		}
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("-%s: expected a file with markers that can be written: %w", name, err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
