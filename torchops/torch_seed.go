package torchops

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The default generator of the process by the functions of torch.random.

func init() {
	define("torch.manual_seed", "seed", func(m *libtorch.Mode, a []any) (any, error) {
		seed, err := toSeed(m, a[0])
		if err != nil {
			return nil, err
		}
		return nil, ManualSeed(seed)
	})
	define("torch.seed", "", func(*libtorch.Mode, []any) (any, error) {
		seed := rand.Uint64()
		if err := ManualSeed(seed); err != nil {
			return nil, err
		}
		return normalize(seed)
	})
	define("torch.initial_seed", "", func(*libtorch.Mode, []any) (any, error) {
		h, err := libtorch.RNGState()
		if err != nil {
			return nil, err
		}
		state := FromHandle(h)
		defer func() { _ = state.Close() }()
		bytes, err := state.Bytes()
		if err != nil {
			return nil, err
		}
		if len(bytes) < 8 {
			return nil, ir.Errorf(ir.ErrFormat, "initial_seed: expected a state of at least 8 bytes, got %d", len(bytes))
		}
		return normalize(binary.NativeEndian.Uint64(bytes)) // the_initial_seed of CPUGeneratorImplStateLegacy
	})
	define("torch.get_rng_state", "", func(*libtorch.Mode, []any) (any, error) {
		h, err := libtorch.RNGState()
		if err != nil {
			return nil, err
		}
		return FromHandle(h), nil
	})
	define("torch.set_rng_state", "new_state", func(_ *libtorch.Mode, a []any) (any, error) {
		state, ok := a[0].(*Tensor)
		if !ok {
			return nil, typeErrorf("expected a torch.ByteTensor, but got %s", typeName(a[0]))
		}
		if info, err := state.info(); err != nil {
			return nil, err
		} else if info.DType != ir.UInt8 || info.Device.Kind() != ir.DeviceCPU || info.Layout != ir.Strided {
			return nil, typeErrorf("RNG state must be a torch.ByteTensor")
		}
		h, err := state.Handle()
		if err != nil {
			return nil, err
		}
		return nil, libtorch.SetRNGState(h)
	})
}

// toSeed is int(seed) as manual_seed takes it: negative numbers count from the end.
func toSeed(m *libtorch.Mode, v any) (uint64, error) {
	if n, large := v.(uint64); large {
		return n, nil
	}
	if f, isFloat := v.(float64); isFloat {
		if n, accuracy := big.NewFloat(f).Uint64(); f >= 1<<63 && accuracy == big.Exact {
			return n, nil
		}
	}
	n, err := toInt(m, v)
	if err != nil {
		return 0, err
	}
	return uint64(n.(int64)), nil
}
