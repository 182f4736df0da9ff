package initialize

import (
	"math"

	torch "github.com/torchfx-go/torchfx/torchops"
)

// TruncNormal fills t with numbers of a normal distribution that lie in
// [low, high].
func TruncNormal(t *torch.Tensor, mean, std, low, high float64, options ...torch.Kwarg) {
	below := func(x float64) float64 { return (1 + math.Erf((x-mean)/std/math.Sqrt(2))) / 2 }
	if below(high)-below(low) > 0.3 {
		reject(t, mean, std, low, high, options)
		return
	}
	rejectUniform(t, mean, std, low, high, options)
}

// reject draws from the normal distribution, and again for what lies outside.
func reject(t *torch.Tensor, mean, std, low, high float64, options []torch.Kwarg) {
	low, high = rounded(t, low), rounded(t, high)
	Normal(t, mean, std, options...)
	for result := t; ; {
		var made held
		outside := made.call("aten::bitwise_or.Tensor", made.call("aten::lt.Scalar", result, low), made.call("aten::gt.Scalar", result, high))
		if !isTrue(&made, outside) {
			finish(t, result)
			made.close()
			return
		}
		again := made.call("aten::empty_like", result)
		Normal(again, mean, std, options...)
		next := call("aten::where.self", outside, again, result)
		made.close()
		drop(t, result)
		result = next
	}
}

// rejectUniform draws evenly from the range, which is far out or narrow, and
// keeps each number as often as its density says.
func rejectUniform(t *torch.Tensor, mean, std, low, high float64, options []torch.Kwarg) {
	mode := max(low, min(mean, high))
	deviation := (mode - mean) / std
	peak := -0.5 * (deviation * deviation)
	var made held
	defer made.close()
	candidates, accept := made.call("aten::empty_like", t), made.call("aten::empty_like", t)
	refused := func() *torch.Tensor { // of the candidates
		inplace("aten::sub_.Scalar", candidates, mean)
		inplace("aten::div_.Scalar", candidates, std)
		inplace("aten::pow_.Scalar", candidates, 2)
		inplace("aten::mul_.Scalar", candidates, -0.5)
		inplace("aten::sub_.Scalar", candidates, peak)
		Uniform(accept, 0, 1, options...)
		inplace("aten::log_", accept)
		return call("aten::gt.Tensor", accept, candidates)
	}
	Uniform(t, low, high, options...)
	inplace("aten::copy_", candidates, t)
	result, pending := t, refused()
	for isTrue(&made, pending) {
		Uniform(candidates, low, high, options...)
		next := call("aten::where.self", pending, candidates, result)
		drop(t, result)
		result = next
		again := refused()
		still := call("aten::where.self", pending, again, pending)
		_, _ = again.Close(), pending.Close()
		pending = still
	}
	_ = pending.Close()
	finish(t, result)
}

// rounded returns x as t's elements can hold it.
func rounded(t *torch.Tensor, x float64) float64 {
	var made held
	defer made.close()
	one := made.call("aten::full", []int{}, x, torch.Kw("dtype", t.DType()))
	v, err := torch.Call("aten::item", one)
	check(err)
	f, _ := v.(float64)
	return f
}

func isTrue(made *held, t *torch.Tensor) bool {
	v, err := torch.Call("aten::item", made.call("aten::any", t))
	check(err)
	b, _ := v.(bool)
	return b
}

// finish copies a result that is not t itself to t, and closes it.
func finish(t, result *torch.Tensor) {
	if result != t {
		inplace("aten::copy_", t, result)
		_ = result.Close()
	}
}

// drop closes an earlier result that is not t itself.
func drop(t, result *torch.Tensor) {
	if result != t {
		_ = result.Close()
	}
}
