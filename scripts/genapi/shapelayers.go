package main

import "slices"

// Shapes of transforms and layers.

func whole(n int, _ bool) int { return n }

func half(n int, _ bool) int { return n/2 + 1 }

func doubled(n int, given bool) int {
	if given {
		return n
	}
	return 2 * (n - 1)
}

// fftn sets the sizes of the dims, and the last of them to what last makes of it.
func fftn(last func(n int, given bool) int) func(c *recorded) [][]int {
	return func(c *recorded) [][]int {
		x, ok := c.first()
		if !ok {
			return nil
		}
		n := len(x.shape)
		s, hasS := c.ints("s")
		dims, hasDims := c.ints("dim")
		if !hasDims {
			count := n
			if hasS {
				count = len(s)
			}
			for i := n - count; i < n; i++ {
				dims = append(dims, i)
			}
		}
		out := slices.Clone(x.shape)
		for i, d := range dims {
			d = wrapped(d, n)
			given := hasS && i < len(s) && s[i] != -1
			if given {
				out[d] = s[i]
			}
			if i == len(dims)-1 {
				out[d] = last(out[d], given)
			}
		}
		return one(out)
	}
}

func stftShape(c *recorded) []int {
	x, ok := c.first()
	n := c.int("n_fft", 0)
	if !ok || n == 0 {
		return nil
	}
	hop, size := c.int("hop_length", n/4), x.shape[len(x.shape)-1]
	if c.bool("center") {
		size += 2 * (n / 2)
	}
	window := n
	if c.bool("align_to_window") {
		window = c.int("win_length", n)
	}
	frequencies := n/2 + 1
	if c.args["onesided"] == false || x.dtype[0] == 'c' && c.args["onesided"] != true {
		frequencies = n
	}
	out := append(slices.Clone(x.shape[:len(x.shape)-1]), frequencies, (size-window)/hop+1)
	if len(c.results) == 1 && c.results[0].dtype[0] != 'c' {
		out = append(out, 2)
	}
	return out
}

// inputAndWeight are those of a convolution, and how many dimensions it has.
func inputAndWeight(c *recorded) (x, w []int, n int) {
	input, ok := c.tensor("input")
	weight, ok2 := c.tensor("weight")
	if !ok || !ok2 {
		return nil, nil, 0
	}
	return input.shape, weight.shape, len(weight.shape) - 2
}

func convolved(c *recorded) [][]int {
	x, w, n := inputAndWeight(c)
	if n == 0 {
		return nil
	}
	stride, dilation, padding := c.times("stride", n, 1), c.times("dilation", n, 1), c.times("padding", n, 0)
	spatial := len(x) - n
	out := append(slices.Clone(x[:spatial-1]), w[0])
	for i := range n {
		reach := dilation[i] * (w[2+i] - 1)
		size := (x[spatial+i]+2*padding[i]-reach-1)/stride[i] + 1
		if c.args["padding"] == "same" {
			size = x[spatial+i]
		}
		out = append(out, size)
	}
	return one(out)
}

func transposedConvolved(c *recorded) [][]int {
	x, w, n := inputAndWeight(c)
	if n == 0 {
		return nil
	}
	stride, dilation, padding, more := c.times("stride", n, 1), c.times("dilation", n, 1), c.times("padding", n, 0), c.times("output_padding", n, 0)
	spatial := len(x) - n
	out := append(slices.Clone(x[:spatial-1]), w[1]*c.int("groups", 1))
	for i := range n {
		out = append(out, (x[spatial+i]-1)*stride[i]-2*padding[i]+dilation[i]*(w[2+i]-1)+more[i]+1)
	}
	return one(out)
}

func pooled(c *recorded) [][]int {
	x, ok := c.first()
	kernels, given := c.ints("kernel_size")
	if !ok || !given {
		return nil
	}
	n := len(kernels)
	for _, r := range c.results { // one number stands for as many as there are
		n = max(n, c.poolDims(len(r.shape)))
	}
	kernel := c.times("kernel_size", n, 1)
	stride := kernel
	if list, ok := c.ints("stride"); ok && len(list) > 0 {
		stride = c.times("stride", n, 1)
	}
	padding, dilation := c.times("padding", n, 0), c.times("dilation", n, 1)
	at := len(x.shape) - n
	if at < 0 {
		return nil
	}
	out := slices.Clone(x.shape)
	for i := range n {
		room := x.shape[at+i] + 2*padding[i] - dilation[i]*(kernel[i]-1) - 1
		size := room/stride[i] + 1
		if c.bool("ceil_mode") {
			size = (room+stride[i]-1)/stride[i] + 1
			if (size-1)*stride[i] >= x.shape[at+i]+padding[i] {
				size--
			}
		}
		out[at+i] = size
	}
	return slices.Repeat([][]int{out}, len(c.results))
}

// poolDims is how many dimensions a pooling function has, by its name.
func (c *recorded) poolDims(int) int {
	for i := len(c.name) - 2; i > 0; i-- {
		if n := c.name[i] - '0'; n >= 1 && n <= 3 && c.name[i+1] == 'd' {
			return int(n)
		}
	}
	return 1
}

func padded(c *recorded, s []int) []int {
	pad, ok := c.ints("pad")
	if !ok {
		return nil
	}
	out := slices.Clone(s)
	for i := 0; i+1 < len(pad); i += 2 {
		if d := len(s) - 1 - i/2; d >= 0 {
			out[d] += pad[i] + pad[i+1]
		}
	}
	return out
}
