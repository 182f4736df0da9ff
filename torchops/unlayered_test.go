package torchops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/torchops/fft"
)

// Operators that are made of others are called without autograd's layer where that is
// not seen: the bridge has a list of them. Nothing of a result or an argument
// may tell: neither the numbers, nor the version that counts what was written, nor what shares memory.
func TestUnlayeredCallsAreThoseOfPyTorch(t *testing.T) {
	testenv.Libtorch(t)
	s := torch.NewScope()
	defer s.Close()
	torch.ManualSeed(1)
	random := func(shape ...int) *torch.Tensor { return torch.Randn(shape, torch.In(s)) }
	image, symmetric := random(2, 4, 6, 6), torch.Add(torch.Mm(torch.Ones(3, 3), torch.Ones(3, 3)), torch.Eye(3), torch.In(s))
	running := func() *torch.Tensor { return torch.Ones(4, torch.In(s)) }
	type list = []any
	pair, one := []int64{1, 1}, int64(1)
	calls := map[string]list{
		"aten::conv1d":                 {random(2, 4, 6), random(4, 4, 3)},
		"aten::conv1d.padding":         {random(4, 6), random(4, 4, 3), nil, []int64{1}, "same"},
		"aten::conv2d":                 {image, random(4, 4, 3, 3), random(4)},
		"aten::conv2d unbatched":       {random(4, 6, 6), random(4, 4, 3, 3)},
		"aten::conv2d grouped":         {image, random(4, 1, 3, 3), nil, pair, pair, pair, int64(4)},
		"aten::conv2d.padding":         {image, random(4, 4, 2, 2), nil, pair, "same"},
		"aten::conv3d":                 {random(1, 4, 4, 4, 4), random(2, 4, 2, 2, 2)},
		"aten::conv_transpose1d":       {random(2, 4, 6), random(4, 4, 3)},
		"aten::conv_transpose2d.input": {image, random(4, 4, 3, 3)},
		"aten::conv_transpose3d.input": {random(4, 4, 4, 4), random(4, 2, 2, 2, 2)},
		"aten::batch_norm":             {image, running(), running(), running(), running(), false, 0.1, 1e-5, false},
		"aten::batch_norm training":    {image, nil, nil, running(), running(), true, 0.1, 1e-5, true},
		"aten::batch_norm alone":       {image, nil, nil, nil, nil, true, 0.1, 1e-5, false},
		"aten::layer_norm":             {image, []int64{6, 6}, random(6, 6)},
		"aten::softmax.int":            {image, -one},
		"aten::softmax.int as double":  {image, one, torch.Float64},
		"aten::log_softmax.int":        {image, one},
		"aten::linalg_det":             {symmetric},
		"aten::linalg_det empty":       {torch.Zeros(0, 0, torch.In(s))},
		"aten::linalg_eigh":            {symmetric, "U"},
		"aten::linalg_svd":             {random(3, 2), false},
		"aten::linalg_inv":             {symmetric},
		"aten::linalg_cholesky":        {symmetric},
		"aten::linalg_solve":           {symmetric, random(3)},
		"aten::fft_fft":                {image},
		"aten::fft_fft longer":         {random(6), int64(9), -one, "ortho"},
		"aten::fft_ifft":               {fft.Fft(random(6), torch.In(s)), int64(3)},
		"aten::fft_rfft":               {image, nil, one},
		"aten::fft_irfft":              {image, int64(6)},
	}
	for name, args := range calls {
		t.Run(name, func(t *testing.T) {
			inFull := &libtorch.Mode{Autocast: &libtorch.Autocast{Device: ir.DeviceCPU, Disabled: true}} // what no mode is, said at length
			want := seenOf(t, inFull, name, args)
			assert.Equal(t, want, seenOf(t, nil, name, args))
		})
	}
}

// A seen is what can be seen of a tensor that a call has made or was given.
type seen struct {
	data          []byte
	shape, stride []int
	dtype         torch.DType
	version       any
	aliases       []int // the arguments that it shares memory with
}

// seenOf calls an operator, whose name ends at a space, with copies of the tensors
// among args, and returns what is seen of the results and then of the copies.
func seenOf(t *testing.T, m *libtorch.Mode, name string, args []any) (all []seen) {
	t.Helper()
	s := torch.NewScope()
	defer s.Close()
	var given []*torch.Tensor
	args = append([]any(nil), args...)
	for i, v := range args {
		if x, ok := v.(*torch.Tensor); ok {
			x = x.Clone(torch.In(s))
			given, args[i] = append(given, x), x
		}
	}
	op := name
	for i := range name {
		if name[i] == ' ' {
			op = name[:i]
			break
		}
	}
	v, err := torch.CallMode(m, op, args, nil)
	require.NoError(t, err)
	results, several := v.(ir.PyTuple)
	if !several {
		results = ir.PyTuple{v}
	}
	var made []*torch.Tensor
	for _, r := range results {
		made = append(made, r.(*torch.Tensor))
		s.Add(r.(*torch.Tensor))
	}
	for _, x := range append(made, given...) {
		one := seen{shape: x.Shape(), stride: x.Strides(), dtype: x.DType()}
		one.data, err = x.Bytes()
		require.NoError(t, err)
		one.version, err = torch.Call("aten::_version", x)
		require.NoError(t, err)
		h, err := x.Handle()
		require.NoError(t, err)
		for i, g := range given {
			other, err := g.Handle()
			require.NoError(t, err)
			if libtorch.IsAlias(h, other) {
				one.aliases = append(one.aliases, i)
			}
		}
		all = append(all, one)
	}
	return all
}
