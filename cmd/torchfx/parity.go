package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/parity"
)

func newParityCommand() *cobra.Command {
	var (
		jobs   int
		only   string
		asJSON bool
		libs   *[]string
	)
	cmd := &cobra.Command{
		Use:   "parity PATH...",
		Short: "Replay recorded cases and compare with what PyTorch computed",
		Long: `parity walks the folders below each PATH, replays every recorded case that it
finds and compares with what PyTorch recorded: outputs, changed buffers and
inputs within the tolerance of the case; integers, booleans, shapes, dtypes and
strides exactly; input sets and files that must be refused by their message.

It prints a line for each case, a table of the values that differ, and closes
with "N passed, N failed, N skipped". Exit code 0 when no case failed.`,
		Example: `  torchfx parity ../shared/fixtures/pt2/2.15.0
  torchfx parity --run 'conv|norm' -j 1 ../shared/fixtures/pt2
  torchfx parity --json ../shared/fixtures/pt2-bad > report.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if jobs < 0 {
				return usagef("--jobs: expected a number of at least 0, got %d", jobs)
			}
			pattern, err := regexp.Compile(only)
			if err != nil {
				return usagef("--run: %v", err)
			}
			return runParity(cmd, paths, parity.Options{Jobs: jobs, Only: pattern, Libraries: *libs}, asJSON)
		},
	}
	cmd.Flags().IntVarP(&jobs, "jobs", "j", 0, "cases replayed at the same time; 0: one for each processor")
	cmd.Flags().StringVar(&only, "run", "", "replay only cases whose name matches the regular `expression`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document instead of text")
	libs = libraryFlag(cmd)
	return cmd
}

func runParity(cmd *cobra.Command, paths []string, opts parity.Options, asJSON bool) error {
	out := cmd.OutOrStdout()
	var failed error
	opts.Done = func(r parity.Result) {
		if err := parity.WriteResult(out, r); err != nil && failed == nil {
			failed = err
		}
	}
	if asJSON {
		opts.Done = nil
	}
	report, err := parity.Run(cmd.Context(), paths, opts)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("parity: interrupted before all cases were replayed")
	case err != nil:
		return fmt.Errorf("parity: %w", err)
	case failed != nil:
		return failed
	case asJSON:
		err = printJSON(cmd, report)
	default:
		err = parity.WriteReport(out, report)
	}
	if err == nil && report.Count(parity.Failed) > 0 {
		return errReported
	}
	return err
}
