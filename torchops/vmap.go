package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The functions of torch._functorch.predispatch that an exported program calls
// around the body of a torch.vmap. Python keeps the open levels in the thread;
// here they are in the mode of the run, so that they end with it and other runs
// do not see them.

const predispatch = "torch._functorch.predispatch."

func init() {
	define(predispatch+"_vmap_increment_nesting", "batch_size, randomness", func(m *libtorch.Mode, a []any) (any, error) {
		if m == nil {
			return nil, errNoRun
		}
		size, err := indexNumber(m, a[0])
		if err != nil {
			return nil, err
		}
		name, _ := a[1].(string)
		randomness, err := libtorch.ParseRandomness(name)
		if err != nil {
			return nil, err
		}
		// a copy: a subgraph that was given the slice keeps its own levels
		m.Vmap = append(m.Vmap[:len(m.Vmap):len(m.Vmap)], libtorch.VmapLevel{BatchSize: size, Randomness: randomness})
		return int64(len(m.Vmap)), nil
	})
	define(predispatch+"_vmap_decrement_nesting", "", func(m *libtorch.Mode, _ []any) (any, error) {
		if m == nil {
			return nil, errNoRun
		}
		n := len(m.Vmap)
		if n == 0 {
			return nil, ir.Errorf(ir.ErrRuntime, "vmap: expected an open level to end, got none")
		}
		m.Vmap = m.Vmap[:n-1]
		return int64(n), nil
	})
	define(predispatch+"_add_batch_dim", "self, batch_dim, level", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := tensorArg(a[0])
		if err != nil {
			return nil, err
		}
		numbers, err := indexAll(m, a[1:])
		if err != nil {
			return nil, err
		}
		info, err := t.info()
		if err != nil {
			return nil, err
		}
		dim, n := numbers[0], int64(len(info.Sizes))
		if dim < 0 {
			dim += n
		}
		if dim < 0 || dim >= n {
			return nil, ir.Errorf(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, numbers[0])
		}
		h, err := libtorch.AddBatchDim(m, &t.handle, dim, numbers[1])
		return joined(h, t), err
	})
	define(predispatch+"_remove_batch_dim", "self, level, batch_size, out_dim", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := tensorArg(a[0])
		if err != nil {
			return nil, err
		}
		n, err := indexAll(m, a[1:])
		if err != nil {
			return nil, err
		}
		h, err := libtorch.RemoveBatchDim(m, &t.handle, n[0], n[1], n[2])
		return joined(h, t), err
	})
	define(predispatch+"lazy_load_decompositions", "", func(*libtorch.Mode, []any) (any, error) {
		// registers batching rules of backward operators, which Python alone has
		return nil, nil
	})
}

var errNoRun = ir.Errorf(ir.ErrRuntime, "vmap: expected the mode of a run, which holds the open levels, got none")

func indexAll(m *libtorch.Mode, values []any) ([]int64, error) {
	numbers := make([]int64, len(values))
	for i, v := range values {
		n, err := indexNumber(m, v)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

// joined returns the tensor of a handle, in the scope of the tensor it came from.
func joined(h *libtorch.Tensor, from *Tensor) any {
	if h == nil {
		return nil
	}
	t := FromHandle(h)
	if s := from.scope.Load(); s != nil {
		s.Add(t)
	}
	return t
}
