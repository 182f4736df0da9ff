package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/internal/setup"
)

// newReporter returns what shows the steps of a long command on standard error:
// bars on a terminal, plain lines elsewhere, nothing with --quiet.
func newReporter(cmd *cobra.Command) setup.Reporter {
	quiet, _ := cmd.Flags().GetBool("quiet")
	if quiet {
		return nil
	}
	if showsProgress(cmd) {
		return bars{cmd.ErrOrStderr()}
	}
	return lines{cmd.ErrOrStderr()}
}

// lines reports in whole lines: a log keeps them all.
type lines struct{ w io.Writer }

func (l lines) Say(line string) { fmt.Fprintln(l.w, line) }

func (l lines) Begin(what string, total int64) setup.Task {
	if total > 0 {
		what = fmt.Sprintf("%s (%.0f MB)", what, float64(total)/1e6)
	}
	fmt.Fprintln(l.w, what+" …")
	return noTask{}
}

type noTask struct{}

func (noTask) At(int64) {}
func (noTask) End()     {}

// bars draws one bar at a time, or a spinner with its seconds where the size of a
// task is not known, and wipes it when the task ends.
type bars struct{ w io.Writer }

func (b bars) Say(line string) { fmt.Fprintln(b.w, line) }

func (b bars) Begin(what string, total int64) setup.Task {
	opts := []progressbar.Option{
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionClearOnFinish(),
	}
	if total <= 0 {
		return bar{progressbar.NewOptions64(-1, append(opts, progressbar.OptionSpinnerType(14))...)}
	}
	return bar{progressbar.NewOptions64(total, append(opts,
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
	)...)}
}

// showNodes returns what shows how many nodes of a graph have run, and what ends
// that when the run does, wherever it stopped: a bar on a terminal, a line for
// each tenth elsewhere, nothing with --quiet.
func showNodes(cmd *cobra.Command) (report func(done, total int), end func()) {
	if quiet, _ := cmd.Flags().GetBool("quiet"); quiet {
		return func(int, int) {}, func() {}
	}
	if showsProgress(cmd) {
		return drawNodes(cmd.ErrOrStderr())
	}
	tenth := 0
	return func(done, total int) {
		if now := done * 10 / max(total, 1); now > tenth {
			tenth = now
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d nodes\n", done, total)
		}
	}, func() {}
}

func drawNodes(w io.Writer) (report func(done, total int), end func()) {
	var nodes *progressbar.ProgressBar
	report = func(done, total int) {
		if nodes == nil {
			nodes = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(w),
				progressbar.OptionSetDescription("nodes"),
				progressbar.OptionSetRenderBlankState(true),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionShowCount(),
				progressbar.OptionSetWidth(24),
				progressbar.OptionThrottle(100*time.Millisecond),
			)
		}
		_ = nodes.Set(done)
	}
	return report, func() {
		if nodes != nil {
			_ = nodes.Finish()
		}
	}
}

type bar struct{ *progressbar.ProgressBar }

func (b bar) At(done int64) { _ = b.Set64(done) }
func (b bar) End()          { _ = b.Finish() }
