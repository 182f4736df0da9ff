package export

import "github.com/torchfx-go/torchfx/ir"

// A storageRef is a storage as a pickle refers to it: memory that tensors share,
// seen as elements of a dtype. In files from before torch 1.6 the memory comes
// behind the pickle, and may be a part of another one.
type storageRef struct {
	storage *Storage // nil when the elements are not read
	dtype   ir.DType // invalid for untyped storages
	device  ir.Device
	begin   int64 // bytes
	size    int64 // bytes
}

// tensor is the whole storage as a tensor, for files that hold bare storages.
func (r *storageRef) tensor() *Tensor {
	d := r.dtype
	if !d.Valid() {
		d = ir.UInt8
	}
	n := int64(d.Size())
	return &Tensor{Storage: r.storage, DType: d, Device: r.device, Sizes: []int64{r.size / n}, Strides: []int64{1}, Offset: r.begin / n}
}

// tensorCost is what a tensor takes of the budget of calls, less than the bytes
// that torch.save writes for the smallest one.
const tensorCost = 8

// dims returns the numbers of a tuple of sizes or strides.
func (u *unpickler) dims(v any) ([]int64, error) {
	list, ok := items(v)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a tuple of sizes, got %s", pyTypeName(v))
	}
	if len(list) > maxDims {
		return nil, ir.Errorf(ir.ErrFormat, "expected at most %d dimensions, got %d", maxDims, len(list))
	}
	if err := u.spend(len(list)); err != nil {
		return nil, err
	}
	out := make([]int64, len(list))
	for i, item := range list {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return nil, ir.Errorf(ir.ErrFormat, "expected sizes and strides of 0 or more, got %s", valueText(item))
		}
		out[i] = n
	}
	return out, nil
}

// view makes a tensor of a storage and checks that it lies inside.
func (u *unpickler) view(ref *storageRef, dtype ir.DType, offset, sizes, strides any) (*Tensor, error) {
	if !dtype.Valid() {
		return nil, ir.Errorf(ir.ErrFormat, "expected a storage with a dtype, got an untyped one")
	}
	if err := u.spend(tensorCost); err != nil {
		return nil, err
	}
	t := &Tensor{Storage: ref.storage, DType: dtype, Device: ref.device}
	var err error
	if t.Sizes, err = u.dims(sizes); err != nil {
		return nil, err
	}
	if t.Strides, err = u.dims(strides); err != nil {
		return nil, err
	}
	off, ok := offset.(int64)
	if !ok || off < 0 {
		return nil, ir.Errorf(ir.ErrFormat, "expected a storage offset of 0 or more, got %s", valueText(offset))
	}
	if len(t.Sizes) != len(t.Strides) {
		return nil, ir.Errorf(ir.ErrFormat, "expected as many strides as sizes, got %d and %d", len(t.Strides), len(t.Sizes))
	}
	size := int64(dtype.Size())
	need, ok := extent(t.Sizes, t.Strides, off)
	n, fits := elements(t.Sizes)
	if !ok || !fits || n > 1<<62/size || need > ref.size/size {
		return nil, ir.Errorf(ir.ErrFormat, "sizes %v, strides %v and offset %d of %s do not lie inside a storage of %d bytes", t.Sizes, t.Strides, off, dtype, ref.size)
	}
	if ref.begin%size != 0 {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a storage view that starts at a multiple of %d bytes, got byte %d", size, ref.begin)
	}
	t.Offset = off + ref.begin/size
	return t, nil
}

// callTensor is _rebuild_tensor(storage, offset, size, stride) and
// _rebuild_tensor_v2, which adds requires_grad, hooks and metadata. Quantized
// dtypes pass: their elements are read, and what scales them stands beside.
func callTensor(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 4, 7); err != nil {
		return nil, err
	}
	ref, ok := args[0].(*storageRef)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a storage, got %s", pyTypeName(args[0]))
	}
	t, err := u.view(ref, ref.dtype, args[1], args[2], args[3])
	if err != nil {
		return nil, err
	}
	if len(args) > 4 {
		t.RequiresGrad, _ = args[4].(bool)
	}
	if len(args) > 6 {
		err = checkTensorMetadata(args[6])
	}
	return t, err
}

// callTensorV3 is _rebuild_tensor_v3: an untyped storage, and the dtype after
// the hooks.
func callTensorV3(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 7, 8); err != nil {
		return nil, err
	}
	ref, ok := args[0].(*storageRef)
	dtype, isDType := args[6].(ir.DType)
	if !ok || !isDType {
		return nil, ir.Errorf(ir.ErrFormat, "expected a storage and a dtype, got %s and %s", pyTypeName(args[0]), pyTypeName(args[6]))
	}
	t, err := u.view(ref, dtype, args[1], args[2], args[3])
	if err != nil {
		return nil, err
	}
	t.RequiresGrad, _ = args[4].(bool)
	if len(args) > 7 {
		err = checkTensorMetadata(args[7])
	}
	return t, err
}

// checkTensorMetadata refuses the bits that say that elements are not what they
// are in memory.
func checkTensorMetadata(v any) error {
	meta, _ := v.(*ir.PyDict)
	for _, bit := range []string{"conj", "neg"} {
		if meta == nil {
			break
		}
		if on, _ := meta.Get(bit); on == true {
			return ir.Errorf(ir.ErrUnsupported, "a tensor with its %s bit set is not supported; save t.resolve_%s()", bit, bit)
		}
	}
	return nil
}

// callParameter is Parameter(tensor, requires_grad) and its rebuilding functions.
func callParameter(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 1, 4); err != nil {
		return nil, err
	}
	from, ok := args[0].(*Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a tensor, got %s", pyTypeName(args[0]))
	}
	if err := u.spend(tensorCost); err != nil {
		return nil, err
	}
	t := *from
	t.Parameter, t.RequiresGrad = true, true
	if len(args) > 1 {
		if t.RequiresGrad, ok = args[1].(bool); !ok {
			return nil, ir.Errorf(ir.ErrFormat, "expected requires_grad as a bool, got %s", pyTypeName(args[1]))
		}
	}
	if len(args) > 3 {
		u.dropState(args[3])
	}
	return &t, nil
}

// dropState says that Python attributes of a tensor are not kept.
func (u *unpickler) dropState(v any) {
	if d, ok := v.(*ir.PyDict); ok && d.Len() == 0 || v == nil {
		return
	}
	if u.f != nil {
		u.f.warn("attributes that Python code set on a tensor are not kept")
	}
}

// callMeta is a tensor of the device meta, which has no elements.
func callMeta(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 4, 4); err != nil {
		return nil, err
	}
	if err := u.spend(tensorCost); err != nil {
		return nil, err
	}
	t := &Tensor{}
	var ok bool
	if t.DType, ok = args[0].(ir.DType); !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a dtype, got %s", pyTypeName(args[0]))
	}
	var err error
	if t.Device, err = ir.ParseDevice("meta"); err != nil {
		return nil, err
	}
	if t.Sizes, err = u.dims(args[1]); err != nil {
		return nil, err
	}
	if t.Strides, err = u.dims(args[2]); err != nil {
		return nil, err
	}
	if n, fits := elements(t.Sizes); !fits || n > 1<<62/int64(t.DType.Size()) || len(t.Sizes) != len(t.Strides) {
		return nil, ir.Errorf(ir.ErrFormat, "expected sizes and strides of a tensor, got %v and %v", t.Sizes, t.Strides)
	}
	t.RequiresGrad, _ = args[3].(bool)
	return t, nil
}

// callDeviceTensor is a tensor of another device that was saved from the CPU.
func callDeviceTensor(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 4, 4); err != nil {
		return nil, err
	}
	if err := u.spend(tensorCost); err != nil {
		return nil, err
	}
	from, ok := args[0].(*Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "expected a tensor, got %s", pyTypeName(args[0]))
	}
	t := *from
	if d, ok := args[1].(ir.DType); !ok || d != t.DType {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected the dtype %s that was saved, got %v", t.DType, d)
	}
	switch d := args[2].(type) {
	case ir.Device:
		t.Device = d
	case string:
		var err error
		if t.Device, err = ir.ParseDevice(clip(d)); err != nil {
			return nil, err
		}
	}
	t.RequiresGrad, _ = args[3].(bool)
	return &t, nil
}

// callFromType is _rebuild_from_type_v2(function, class, args, state): a tensor
// of a subclass, or one with attributes.
func callFromType(u *unpickler, args ir.PyTuple) (any, error) {
	if err := arity(args, 4, 4); err != nil {
		return nil, err
	}
	fn, ok1 := args[0].(*pickleFunc)
	class, ok2 := args[1].(*pickleFunc)
	inner, ok3 := args[2].(ir.PyTuple)
	switch {
	case !ok1 || !ok2 || !ok3 || fn.call == nil || fn.name == "torch._tensor._rebuild_from_type_v2":
		return nil, ir.Errorf(ir.ErrFormat, "expected a function, a class and arguments, got %s, %s and %s", pyTypeName(args[0]), pyTypeName(args[1]), pyTypeName(args[2]))
	case class.name != "torch.Tensor" && class.name != "torch.nn.parameter.Parameter":
		return nil, ir.Errorf(ir.ErrUnsupported, "a tensor of class %s is not supported", class.name)
	}
	u.dropState(args[3])
	return fn.call(u, inner)
}

// callParts keeps a tensor that is more than strided elements, such as a sparse
// one, as the parts that it is made of.
func callParts(class string, fields ...string) func(*unpickler, ir.PyTuple) (any, error) {
	return func(u *unpickler, args ir.PyTuple) (any, error) {
		if class == "torch.quantized" {
			if err := arity(args, 7, 8); err != nil {
				return nil, err
			}
			t, err := callTensor(u, args[:4])
			if err != nil {
				return nil, err
			}
			return &Instance{Class: class, Args: ir.PyTuple{t, args[4]}}, nil
		}
		if err := arity(args, len(fields), len(fields)); err != nil {
			return nil, err
		}
		return &Instance{Class: class, Args: args}, nil
	}
}
