package passes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A region takes inputs as a caller has them: views, parts that overlap, one tensor for
// two inputs, none at all in a batch. Results lie as was noted when it was made. What the delegate has no kernels for, its twin computes.
func TestOneDNNOddInputs(t *testing.T) {
	d := onednn(t)
	made := func(op string, args ...any) *torch.Tensor {
		v, err := tensor(op, args...)
		require.NoError(t, err)
		t.Cleanup(func() { _ = v.Close() })
		return v
	}
	x, y := randn(t, 2, 8, 10, 12), randn(t, 2, 8, 10, 12)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nr = torch.ops.aten.relu6.default(torch.ops.aten.add.Tensor(c, y))\nreturn (r, torch.ops.aten.mul.Tensor(r, self.ch))",
		map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "ch": {8, 1, 1}}, x, y)
	inputs := [][]*torch.Tensor{
		{x, y},
		{x, x},
		{made("aten::contiguous", x, torch.Kw("memory_format", ir.ChannelsLast)), y},
		{made("aten::transpose.int", randn(t, 2, 8, 12, 10), 2, 3), made("aten::transpose.int", randn(t, 8, 2, 10, 12), 0, 1)},
		{made("aten::slice.Tensor", randn(t, 2, 16, 10, 12), 1, 3, 11), made("aten::expand", randn(t, 1, 8, 1, 12), []int64{2, 8, 10, 12})},
		{made("aten::as_strided", x, []int64{2, 8, 10, 12}, []int64{8, 16, 3, 1}), y},
		{randn(t, 0, 8, 10, 12), randn(t, 0, 8, 10, 12)},
		{randn(t, 1, 8, 1, 1), randn(t, 1, 8, 1, 1)},
	}
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()), OnlyRewrites("delegate"))
	require.NoError(t, err)
	defer frozen.Close()
	require.Len(t, frozen.Report.Regions, 1)
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	for i, in := range inputs {
		want := runModule(t, interpreter.New(gm), in)
		for range 2 { // watched, and as planned
			got := runModule(t, plan, in)
			for k := range want {
				assert.Equal(t, want[k].Shape(), got[k].Shape())
				assert.Less(t, distance(t, want[k], got[k]), 1e-4, "inputs %d, result %d", i, k)
			}
			closeEach(got)
		}
		closeEach(want)
	}
}

// A run that is cancelled while kernels are made for its sizes leaves a plan that
// computes them afterwards, whoever waited for the same kernels meanwhile.
func TestOneDNNCancelledWhilePreparing(t *testing.T) {
	d := onednn(t)
	x := randn(t, 1, 16, 24, 24)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(c)", map[string][]int{"w": {16, 16, 3, 3}}, x)
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()), OnlyRewrites("delegate"))
	require.NoError(t, err)
	defer frozen.Close()
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	for i := range 8 {
		x := randn(t, 1, 16, 25+i, 24)
		done := make(chan error, 8)
		for k := range cap(done) {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(k*i)*200*time.Microsecond)
				defer cancel()
				out, err := plan.RunFlat(ctx, []any{x})
				for _, v := range out {
					_ = v.(*torch.Tensor).Close()
				}
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				require.True(t, errors.Is(err, ir.ErrCancelled), "%v", err)
			}
		}
		want := runModule(t, interpreter.New(gm), []*torch.Tensor{x})
		got := runModule(t, plan, []*torch.Tensor{x})
		assert.Less(t, distance(t, want[0], got[0]), 1e-4)
		closeEach(want)
		closeEach(got)
	}
}

// Arithmetic for each channel after another, a batch norm among it, on images of one pixel,
// of which oneDNN's kernel of both gives something else where there are several.
func TestOneDNNPixels(t *testing.T) {
	const norm = "torch.ops.aten.batch_norm.default(x, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)"
	pixelWeights := map[string][]int{"g": {8}, "b": {8}, "m": {8}, "var": {8}, "w": {8, 8, 1, 1}, "ch": {8, 1, 1}, "ch2": {8, 1, 1}}
	const back = "\nc = torch.ops.aten.conv2d.default(n, self.w, self.b)\nreturn (n, c)"
	for name, body := range map[string]string{
		"norm":                 "n = " + norm,
		"norm of a pool":       "p = torch.ops.aten.adaptive_avg_pool2d.default(y, [1, 1])\nn = torch.ops.aten.batch_norm.default(p, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)",
		"scaled and shifted":   "n = torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(x, self.ch), self.ch2)",
		"with relu between":    "n = torch.ops.aten.add.Tensor(torch.ops.aten.relu.default(torch.ops.aten.mul.Tensor(x, self.ch)), self.ch2)",
		"behind full ones":     "n = torch.ops.aten.mul.Tensor(torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(x, x), self.ch2), self.ch)",
		"shifted first":        "n = torch.ops.aten.mul.Tensor(self.ch, torch.ops.aten.add.Tensor(self.ch2, x))",
		"norm behind a scale":  "s = torch.ops.aten.mul.Tensor(x, self.ch)\nn = torch.ops.aten.batch_norm.default(s, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)",
		"scale behind a norm":  "n = torch.ops.aten.mul.Tensor(" + norm + ", self.ch)",
		"behind a convolution": "o = torch.ops.aten.conv2d.default(x, self.w, self.b)\nn = torch.ops.aten.sub.Tensor(torch.ops.aten.mul.Tensor(o, self.ch), self.ch2)",
	} {
		t.Run(name, func(t *testing.T) {
			d := onednn(t)
			x, y := randn(t, 2, 8, 1, 1), randn(t, 2, 8, 6, 6)
			gm := aten(t, body+back, pixelWeights, x, y)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x, y}, {randn(t, 5, 8, 1, 1), randn(t, 5, 8, 6, 6)}, {randn(t, 1, 8, 1, 1), randn(t, 1, 8, 3, 4)}}, FreezeDelegate(d), OnlyRewrites("delegate"))
			assert.Len(t, frozen.Report.Regions, 1)
		})
		t.Run(name+", noted larger", func(t *testing.T) {
			x, y := randn(t, 2, 8, 4, 4), randn(t, 2, 8, 6, 6)
			gm := aten(t, body+back, pixelWeights, x, y)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x, y}, {randn(t, 2, 8, 1, 1), y}, {randn(t, 5, 8, 1, 1), y}}, FreezeDelegate(onednn(t)), OnlyRewrites("delegate"))
			assert.Len(t, frozen.Report.Regions, 1)
		})
	}
}
