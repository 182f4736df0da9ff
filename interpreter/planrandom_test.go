package interpreter_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var nan = math.NaN()

// Plans of random programs give what the Interpreter does, in runs one after another
// on inputs of changing sizes, strides and dtypes: the bits of results, of inputs and
// of attributes that are written, sizes and strides, who shares memory with whom, and
// the texts of errors. Results of earlier runs stay as they are, whatever later runs
// and the caller's own writes do.
//
// A long run: go test ./interpreter -run PlansOfRandomPrograms -rapid.checks 20000
func TestPlansOfRandomPrograms(t *testing.T) {
	needLibtorch(t)
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, torch.ManualSeed(0)) // what is drawn depends on values
		p := drawProgram(t)
		model, ours := p.module(), p.module()
		plan, err := interpreter.Compile(ours, oneOf(&programmer{t: t}, interpreter.PlanFuseAll(), interpreter.PlanFusion(true), interpreter.PlanFusion(false)))
		if err != nil { // what is certain to fail does so at once
			_, failed := interpreter.New(model).Run(t.Context(), makeInputs(p.inputs)...)
			require.Error(t, failed, "compile fails: %v\n%s", err, p.graph)
			return
		}
		defer plan.Close()
		draw := &programmer{t: t}
		inputs := p.inputs
		var kept [][2]any // results of the Interpreter and of the plan
		for run := range 7 {
			switch run {
			case 3, 5:
				inputs = draw.others(inputs)
			case 6:
				inputs = p.inputs
			}
			a, b := makeInputs(inputs), makeInputs(inputs)
			require.NoError(t, torch.ManualSeed(uint64(run)))
			want, wantErr := interpreter.New(model).Run(t.Context(), a...)
			require.NoError(t, torch.ManualSeed(uint64(run)))
			got, gotErr := plan.Run(t.Context(), b...)
			require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), "run %d of %+v, attributes %+v\n%s", run, inputs, p.attrs, p.graph)
			require.Equal(t, snapshot(model, want, a), snapshot(ours, got, b), "run %d of %+v, attributes %+v\n%s", run, inputs, p.attrs, p.graph)
			for _, k := range kept {
				require.Equal(t, snapshot(nil, k[0], nil), snapshot(nil, k[1], nil), "a result of an earlier run, after run %d\n%s", run, p.graph)
			}
			if gotErr != nil {
				continue
			}
			if draw.coin() { // the caller writes into what he has got
				spoil(want)
				spoil(got)
			}
			kept = append(kept, [2]any{want, got})
		}
		for _, k := range kept {
			closeResult(k[0])
			closeResult(k[1])
		}
	})
}

// snapshot is a run's result, its inputs and the attributes as text, with who shares
// memory with whom.
func snapshot(gm *ir.GraphModule, result any, inputs []any) string {
	var b strings.Builder
	var tensors []*torch.Tensor
	write := func(v any) {
		eachLeaf(v, func(leaf any) {
			t, ok := leaf.(*torch.Tensor)
			if !ok {
				fmt.Fprintf(&b, "%T %v\n", leaf, leaf)
				return
			}
			data, err := t.Bytes()
			oneNaN(data, t.DType())
			fmt.Fprintf(&b, "%s %v from %d, grad %t: %x %v, with", torch.Describe(t), t.Strides(), t.StorageOffset(), t.RequiresGrad(), data, err)
			for i, other := range tensors {
				if shares(t, other) {
					fmt.Fprintf(&b, " %d", i)
				}
			}
			b.WriteString("\n")
			tensors = append(tensors, t)
		})
	}
	write(result)
	write(inputs)
	if gm == nil {
		return b.String()
	}
	attrs := map[string]any{}
	var paths []string
	for path, v := range gm.Attrs() {
		attrs[path] = v
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if t, ok := attrs[path].(*torch.Tensor); ok {
			write(t)
		}
	}
	return b.String()
}

// oneNaN makes every NaN the same: which of two a product of NaNs is, a kernel decides
// by where in its vectors an element lies.
func oneNaN(data []byte, d ir.DType) {
	switch d {
	case ir.BFloat16:
		for ; len(data) > 0; data = data[2:] {
			if binary.LittleEndian.Uint16(data)&0x7fff > 0x7f80 {
				binary.LittleEndian.PutUint16(data, 0x7fc0)
			}
		}
	case ir.Float32, ir.Complex64:
		for ; len(data) > 0; data = data[4:] {
			if binary.LittleEndian.Uint32(data)&0x7fffffff > 0x7f800000 {
				binary.LittleEndian.PutUint32(data, 0x7fc00000)
			}
		}
	case ir.Float64:
		for ; len(data) > 0; data = data[8:] {
			if math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(data))) {
				binary.LittleEndian.PutUint64(data, math.Float64bits(nan))
			}
		}
	}
}

// eachLeaf calls f with the values in lists and tuples, whose kinds are leaves, too.
func eachLeaf(v any, f func(any)) {
	switch v := v.(type) {
	case []any:
		f(fmt.Sprintf("list of %d", len(v)))
		for _, item := range v {
			eachLeaf(item, f)
		}
	case ir.PyTuple:
		f(fmt.Sprintf("tuple of %d", len(v)))
		for _, item := range v {
			eachLeaf(item, f)
		}
	default:
		f(v)
	}
}

// spoil writes zeros into the tensors of a result, as far as they can be written.
func spoil(result any) {
	eachLeaf(result, func(leaf any) {
		if t, ok := leaf.(*torch.Tensor); ok {
			_, _ = torch.Call("aten::mul_.Scalar", t, int64(0))
		}
	})
}
