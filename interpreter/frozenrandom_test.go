package interpreter_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// exactRewrites are those of Freeze that promise equal bits.
func exactRewrites() (names []string) {
	for _, r := range passes.Rewrites() {
		if r.Tolerance == 0 && !r.Off {
			names = append(names, r.Name)
		}
	}
	return names
}

// Plans of random programs of operators that Freeze has rewritten give what the
// Interpreter does of the program as it was, wherever that does not fail: bits, strides,
// who shares memory with whom, what is written, on inputs of changing sizes and dtypes.
func TestFrozenPlansOfRandomPrograms(t *testing.T) {
	needLibtorch(t)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, torch.ManualSeed(0))
		drawn := newProgrammer(t)
		drawn.plain = true
		p := drawn.draw()
		model, ours := p.module(), p.module()
		frozen, err := passes.Freeze(t.Context(), ours, passes.OnlyRewrites(exactRewrites()...))
		if err != nil { // a constant that cannot be computed
			_, failed := interpreter.New(model).Run(t.Context(), makeInputs(p.inputs)...)
			require.Error(t, failed, "freeze fails: %v\n%s", err, p.graph)
			return
		}
		defer frozen.Close()
		plan, err := interpreter.Compile(frozen.Module)
		if err != nil {
			_, failed := interpreter.New(model).Run(t.Context(), makeInputs(p.inputs)...)
			require.Error(t, failed, "compile fails: %v\n%s", err, p.graph)
			return
		}
		defer plan.Close()
		draw := &programmer{t: t}
		inputs := p.inputs
		for run := range 5 {
			if run == 3 {
				inputs = draw.others(inputs)
			}
			a, b := makeInputs(inputs), makeInputs(inputs)
			require.NoError(t, torch.ManualSeed(uint64(run)))
			want, err := interpreter.New(model).Run(t.Context(), a...)
			if err != nil {
				return // what is not needed, Freeze takes out, be it right or wrong
			}
			require.NoError(t, torch.ManualSeed(uint64(run)))
			got, err := plan.Run(t.Context(), b...)
			said := fmt.Sprintf("run %d of %+v, attributes %+v\n%s\n%s\n%s", run, inputs, p.attrs, p.graph, frozen.Report, frozen.Module.Graph())
			require.NoError(t, err, said)
			require.Equal(t, snapshot(model, want, a), snapshot(ours, got, b), said)
			if draw.coin() { // the caller writes into what he has got
				spoil(want)
				spoil(got)
			}
			closeResult(want)
			closeResult(got)
		}
	})
}

// Plans of random networks that Freeze has lowered and rewritten in all ways that it
// knows give what the Interpreter does within the tolerance that the report states, in
// the same layout.
func TestFrozenPlansOfRandomNetworks(t *testing.T) {
	needLibtorch(t)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, torch.ManualSeed(0))
		p := drawNetwork(t)
		gm := p.module()
		options := []passes.FreezeOption{passes.FreezeArgs(makeInputs(p.inputs)...), passes.WithChoices(passes.Unmeasured())}
		if (&programmer{t: t}).n(4) > 0 {
			options = append(options, passes.FreezeDelegate(nil))
		}
		frozen, err := passes.Freeze(t.Context(), gm, options...)
		require.NoError(t, err, "%s", p.graph)
		defer frozen.Close()
		plan, err := interpreter.Compile(frozen.Module)
		require.NoError(t, err, "%s", frozen.Module.Graph())
		defer plan.Close()
		inputs := p.inputs
		for run := range 4 {
			for i := range inputs {
				inputs[i].seed += uint64(run)
			}
			want, err := interpreter.New(gm).Run(t.Context(), makeInputs(inputs)...)
			require.NoError(t, err)
			got, err := plan.Run(t.Context(), makeInputs(inputs)...)
			said := fmt.Sprintf("run %d of %+v, attributes %+v\n%s\n%s\n%s", run, inputs, p.attrs, p.graph, frozen.Report, frozen.Module.Graph())
			require.NoError(t, err, said)
			within(t, want, got, frozen.Report.Tolerance(), 0, true, said)
			closeResult(want)
			closeResult(got)
		}
	})
}

// within compares two results of as many tensors: dtypes, sizes and, where they are to be the
// same, strides; which elements are NaN; and finite ones to a tolerance relative to the largest
// magnitude, or to least where that is less, since what cancels leaves only its rounding.
func within(t *rapid.T, want, got any, tolerance, least float64, strides bool, said string) {
	var tensors [2][]*torch.Tensor
	for i, v := range []any{want, got} {
		eachLeaf(v, func(leaf any) {
			if x, ok := leaf.(*torch.Tensor); ok {
				tensors[i] = append(tensors[i], x)
			}
		})
	}
	require.Len(t, tensors[1], len(tensors[0]), said)
	for i, w := range tensors[0] {
		g := tensors[1][i]
		require.Equal(t, torch.Describe(w), torch.Describe(g), said)
		if strides {
			require.Equal(t, steps(w), steps(g), said)
		}
		if w.Numel() == 0 {
			continue
		}
		a, b := made("aten::to.dtype", w, ir.Float64), made("aten::to.dtype", g, ir.Float64)
		alike, err := torch.Call("aten::equal", made("aten::isnan", a), made("aten::isnan", b))
		require.NoError(t, err)
		require.Equal(t, true, alike, "result %d: NaN\n%s", i, said)
		finite := made("aten::logical_and", made("aten::isfinite", a), made("aten::isfinite", b))
		none := made("aten::zeros_like", a)
		a, b = made("aten::where.self", finite, a, none), made("aten::where.self", finite, b, none)
		scale, far := largest(t, made("aten::abs", a)), largest(t, made("aten::abs", made("aten::sub.Tensor", a, b)))
		require.LessOrEqual(t, far, tolerance*max(scale, least), "result %d of magnitude %g, tolerance %g\n%s", i, scale, tolerance, said)
	}
}

// steps are the strides of a tensor, 0 along dimensions of one element: none is to be
// found by them, and kernels leave there what they like.
func steps(x *torch.Tensor) []int {
	strides := slices.Clone(x.Strides())
	for i, n := range x.Shape() {
		if n == 1 {
			strides[i] = 0
		}
	}
	return strides
}

func largest(t *rapid.T, x *torch.Tensor) float64 {
	v, err := made("aten::max", x).Item()
	require.NoError(t, err)
	f, ok := v.(float64)
	require.True(t, ok, "%T", v)
	return f
}
