package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/setup"
	"github.com/torchfx-go/torchfx/ir"
)

// setUp opens libtorch, and where there is none finds or downloads it first, as
// `torchfx setup` does.
func setUp(ctx context.Context, out io.Writer) error {
	err := libtorch.Open()
	if !errors.Is(err, ir.ErrMissing) {
		return err
	}
	fmt.Fprintln(out, "Setting up libtorch, once:")
	if _, err := setup.Run(ctx, setup.Options{Report: lines{out}}); err != nil {
		return err
	}
	return libtorch.Open()
}

// lines reports a set-up as plain lines.
type lines struct{ out io.Writer }

func (l lines) Say(line string) { fmt.Fprintln(l.out, " ", line) }

func (l lines) Begin(what string, total int64) setup.Task {
	if total > 0 {
		what = fmt.Sprintf("%s (%d MB)", what, total>>20)
	}
	l.Say(what)
	return task{}
}

type task struct{}

func (task) At(int64) {}
func (task) End()     {}
