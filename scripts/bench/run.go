package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	"github.com/torchfx-go/torchfx/scripts/bench/worker"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// loadNetwork makes a network of a folder ready in one of this module's executors.
func loadNetwork(folder, executor string, threads int) (*worker.Network, error) {
	inputs, manifest, err := readInputs(folder)
	if err != nil {
		return nil, err
	}
	run, err := open(folder, executor, threads)
	if err != nil {
		return nil, err
	}
	n := &worker.Network{Version: runtime.Version()}
	// a shape is met once as eager code runs it, and planned from then on
	for range 2 {
		if err := once(run, inputs, func(t *torch.Tensor) error {
			got, err := torch.Data[float32](t)
			if err != nil {
				return err
			}
			n.Difference, err = manifest.Difference(got)
			return err
		}); err != nil {
			return nil, err
		}
	}
	n.Run = func() error { return once(run, inputs, func(*torch.Tensor) error { return nil }) }
	return n, nil
}

// readInputs reads what goes into a network of a folder.
func readInputs(folder string) ([]any, *worker.Manifest, error) {
	manifest, err := worker.ReadManifest(folder)
	if err != nil {
		return nil, nil, err
	}
	var inputs []any
	for _, v := range manifest.Inputs {
		data, err := manifest.Bytes(v)
		if err != nil {
			return nil, nil, err
		}
		dtype, ok := dtypes[v.DType]
		if !ok {
			return nil, nil, fmt.Errorf("%s: expected float32 or int64, got %s", v.Name, v.DType)
		}
		t, err := torch.FromBytes(dtype, v.Shape, data)
		if err != nil {
			return nil, nil, err
		}
		inputs = append(inputs, t)
	}
	return inputs, manifest, nil
}

var dtypes = map[string]ir.DType{"float32": ir.Float32, "int64": ir.Int64}

type runner func(ctx context.Context, inputs ...any) (any, error)

// open loads what an executor runs.
func open(folder, executor string, threads int) (runner, error) {
	if executor == "go-aoti" {
		c, err := interpreter.OpenAOTI(filepath.Join(folder, fmt.Sprintf("aoti-%d.pt2", threads)), interpreter.WithThreads(threads))
		if err != nil {
			return nil, err
		}
		return c.Run, nil
	}
	p, err := torchfx.Load(filepath.Join(folder, "program.pt2"), torchfx.WithThreads(threads))
	if err != nil {
		return nil, err
	}
	switch executor {
	case "go-interpreter":
		return p.Run, nil
	case "plan":
	case "frozen", "libtorch":
		opts := []passes.FreezeOption{passes.FreezeThreads(threads)}
		if executor == "libtorch" {
			opts = append(opts, passes.WithoutRewrites("delegate"))
		}
		if _, err := p.Freeze(context.Background(), opts...); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("expected an executor of this module, got %q", executor)
	}
	plan, err := p.Compile(interpreter.WithThreads(threads))
	if err != nil {
		return nil, err
	}
	return plan.Run, nil
}

// sameBits compares a network's results of this module's Interpreter and of a Plan that is
// not frozen, bit by bit, watched and planned.
func sameBits(folder string, threads int) error {
	inputs, _, err := readInputs(folder)
	if err != nil {
		return err
	}
	var want []byte
	for _, executor := range []string{"go-interpreter", "plan"} {
		run, err := open(folder, executor, threads)
		if err != nil {
			return err
		}
		for range 2 {
			err := once(run, inputs, func(t *torch.Tensor) error {
				got, err := t.Bytes()
				switch {
				case err != nil:
					return err
				case want == nil:
					want = got
				case !bytes.Equal(want, got):
					return fmt.Errorf("%s: expected the bits of the Interpreter's first run", executor)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs a network, looks at its result and closes it.
func once(run runner, inputs []any, look func(*torch.Tensor) error) error {
	out, err := run(context.Background(), inputs...)
	if err != nil {
		return err
	}
	t, ok := out.(*torch.Tensor)
	if !ok {
		return fmt.Errorf("expected a tensor as result, got %T", out)
	}
	if err := look(t); err != nil {
		return err
	}
	return t.Close()
}

// serveNetwork is this module's worker.
func serveNetwork(folder, executor string, threads int) error {
	if err := libtorch.Open(); err != nil {
		return err
	}
	return worker.Serve(func() (*worker.Network, error) { return loadNetwork(folder, executor, threads) })
}
