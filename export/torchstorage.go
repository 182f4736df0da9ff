package export

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// zipStorages are the storages of a zip archive: one record each.
type zipStorages struct {
	a        *archive
	dir      string // of the records
	bare     bool   // do not read elements
	big      bool   // elements are big-endian
	storages map[string]*zipStorage
}

type zipStorage struct {
	*Storage
	width int // of what was swapped, in bytes
}

// storageID takes a persistent id apart: ("storage", class, key, location, numel).
func storageID(id ir.PyTuple) (ref *storageRef, key string, err error) {
	bad := func() (*storageRef, string, error) {
		return nil, "", ir.Errorf(ir.ErrFormat, "expected the persistent id of a storage: its class, key, location and size")
	}
	if len(id) < 5 {
		return bad()
	}
	kind, _ := id[0].(string)
	class, ok1 := id[1].(*pickleFunc)
	key, ok2 := id[2].(string)
	location, ok3 := id[3].(string)
	numel, ok4 := id[4].(int64)
	if kind != "storage" || !ok1 || !ok2 || !ok3 || !ok4 || class.kind != storageClass {
		return bad()
	}
	ref = &storageRef{dtype: class.dtype}
	width := int64(1)
	if ref.dtype.Valid() {
		width = int64(ref.dtype.Size())
	}
	if numel < 0 || numel > 1<<62/width {
		return nil, "", ir.Errorf(ir.ErrFormat, "storage %s: expected a size of 0 or more, got %d", clip(key), numel)
	}
	ref.size = numel * width
	if ref.device, err = ir.ParseDevice(clip(location)); err != nil {
		return nil, "", ir.Errorf(ir.ErrUnsupported, "storage %s: location %w", clip(key), err)
	}
	return ref, key, nil
}

func (z *zipStorages) storage(id ir.PyTuple) (any, error) {
	ref, key, err := storageID(id)
	if err != nil {
		return nil, err
	}
	r, err := z.a.find(z.dir + key)
	if err != nil {
		return nil, err
	}
	if ref.size > r.size {
		return nil, ir.Errorf(ir.ErrFormat, "record %s: expected at least %d bytes, got %d", r.name, ref.size, r.size)
	}
	if z.bare {
		return ref, nil
	}
	width := 1
	if z.big && ref.dtype.Valid() {
		if width = ref.dtype.Size(); ref.dtype.IsComplex() {
			width /= 2
		}
	}
	st := z.storages[key]
	if st == nil {
		if st, err = z.open(r, width); err != nil {
			return nil, err
		}
		z.storages[key] = st
	}
	if st.width != width {
		return nil, ir.Errorf(ir.ErrUnsupported, "record %s: big-endian elements of %d and of %d bytes in one storage", r.name, st.width, width)
	}
	ref.storage = st.Storage
	return ref, nil
}

// open reads the record of a storage, and swaps elements of more than one byte.
func (z *zipStorages) open(r *record, width int) (*zipStorage, error) {
	data, err := z.a.content(r)
	if err != nil {
		return nil, err
	}
	if width == 1 {
		if r.deflated {
			return &zipStorage{NewStorage(data), 1}, nil
		}
		return &zipStorage{storageOf(z.a.span, data, alignment), 1}, nil
	}
	data = slices.Clone(data)
	for i := 0; i+width <= len(data); i += width {
		slices.Reverse(data[i : i+width])
	}
	return &zipStorage{NewStorage(data), width}, nil
}
