package torchops

import "github.com/torchfx-go/torchfx/ir"

// The method new, as code from before torch 0.4 calls it: legacy_tensor_generic_ctor_new
// in torch/csrc/utils/tensor_new.cpp.

func init() {
	defineBound(tensorMethod+"new", func(b *binding) (any, error) { return b.legacyNew() },
		"*, Device? device=None",
		"Tensor other, *, Device? device=None",
		"SymIntArrayRef size, *, Device? device=None",
		"PyObject* data, *, Device? device=None")
}

func (b *binding) legacyNew() (any, error) {
	info, err := b.self.info()
	if err != nil {
		return nil, err
	}
	first, device := b.values[0], b.values[0]
	if b.which > 0 {
		device = b.values[1]
	}
	if device != nil {
		d, err := deviceOf(device)
		if err != nil {
			return nil, err
		}
		if d.Kind() != info.Device.Kind() {
			return nil, ir.Errorf(ir.ErrRuntime, "legacy constructor expects device type: %s but device type: %s was passed", info.Device.Kind(), d.Kind())
		}
	}
	switch b.which {
	case 0:
		return b.legacyEmpty([]any{int64(0)})
	case 1:
		other, err := first.(*Tensor).info()
		if err != nil {
			return nil, err
		}
		if other.DType != info.DType || other.Device != info.Device || other.Layout != info.Layout {
			return nil, typeErrorf("expected %s (got %s)", typeText(info.DType, info.Device, info.Layout), typeText(other.DType, other.Device, other.Layout))
		}
		return b.op("aten::alias", []any{first})
	case 2:
		// sizes, x.new(2, 3) and x.new(y.size()), unless they are a list of data. A
		// tuple is sizes: a run does not tell torch.Size from it.
		if _, kind := items(first); kind != "list" || isIndex(b.args[0]) {
			return b.legacyEmpty(first)
		}
	}
	if _, kind := items(first); kind == "" {
		if isText(first) {
			return nil, typeErrorf("new(): invalid data type 'str'")
		}
		return nil, typeErrorf("new(): data must be a sequence (got %s)", typeName(first))
	}
	t, err := b.fromData(first, info.DType, info.Device, true)
	if err == nil && b.scope != nil {
		b.scope.Add(t)
	}
	return t, err
}

// legacyEmpty makes a tensor like the one that new is called on, without elements
// that mean something.
func (b *binding) legacyEmpty(size any) (any, error) {
	return b.op("aten::new_empty", []any{b.self, size})
}
