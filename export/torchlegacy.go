package export

import (
	"encoding/binary"

	"github.com/torchfx-go/torchfx/ir"
)

// legacyMagic is the pickle that files before torch 1.6 start with.
const legacyMagic = "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."

func isLegacy(s *span) bool {
	if s.size < int64(len(legacyMagic)) {
		return false
	}
	head, err := s.slice(0, int64(len(legacyMagic)))
	return err == nil && string(head) == legacyMagic
}

// readLegacy reads the form before torch 1.6: pickles of a version, of facts
// about the machine, of the value and of the storages' keys; then each storage,
// its length in front. Follows _legacy_load in torch/serialization.py.
func readLegacy(s *span, o *options) (*Saved, error) {
	text, err := s.slice(0, min(s.size, maxPickle))
	if err != nil {
		return nil, err
	}
	at := int64(len(legacyMagic))
	var f faults
	l := &legacyStorages{roots: map[string]*storageRef{}, bare: o.noWeights}
	u := &unpickler{classes: o.classes, f: &f}
	next := func(what string) (any, error) {
		if at > int64(len(text)) {
			return nil, ir.Errorf(ir.ErrFormat, "%s: expected a pickle, got the end", what)
		}
		v, n, err := u.unpickle(text[at:])
		at += int64(n)
		if err != nil {
			return nil, ir.Errorf(ir.ClassOf(err), "%s: %w", what, err)
		}
		return v, nil
	}
	switch v, err := next("protocol version"); {
	case err != nil:
		return nil, err
	case v != int64(1001):
		return nil, ir.Errorf(ir.ErrVersion, "protocol version: expected 1001, got %s", valueText(v))
	}
	if _, err := next("system information"); err != nil {
		return nil, err
	}
	u.storage = l.storage
	v, err := next("value")
	if err != nil {
		return nil, err
	}
	attrs := u.attrs
	u.storage = nil
	keys, err := next("storage keys")
	if err != nil {
		return nil, err
	}
	if err := l.fill(s, at, keys); err != nil {
		return nil, err
	}
	return &Saved{Value: v, Legacy: true, Writer: "torch before 1.6, or a later one that was told to", Warnings: f.warnings, attrs: attrs}, nil
}

// legacyStorages are storages whose elements come behind the value.
type legacyStorages struct {
	roots map[string]*storageRef
	bare  bool
}

func (l *legacyStorages) storage(id ir.PyTuple) (any, error) {
	ref, key, err := storageID(id)
	if err != nil {
		return nil, err
	}
	root := l.roots[key]
	if root == nil {
		root = ref
		if !l.bare {
			root.storage = &Storage{}
		}
		l.roots[key] = root
	}
	if root.size != ref.size {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected %d bytes as before, got %d", clip(key), root.size, ref.size)
	}
	view := &storageRef{storage: root.storage, dtype: ref.dtype, device: ref.device, size: ref.size}
	if len(id) < 6 || id[5] == nil {
		return view, nil
	}
	v, ok := id[5].(ir.PyTuple)
	if !ok || len(v) != 3 {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected a view as key, offset and size, got %s", clip(key), pyTypeName(id[5]))
	}
	offset, ok1 := v[1].(int64)
	numel, ok2 := v[2].(int64)
	width := int64(1)
	if ref.dtype.Valid() {
		width = int64(ref.dtype.Size())
	}
	if !ok1 || !ok2 || offset < 0 || numel < 0 || offset > ref.size/width || numel > ref.size/width-offset {
		return nil, ir.Errorf(ir.ErrFormat, "storage %s: expected a view inside its %d bytes", clip(key), ref.size)
	}
	view.begin, view.size = offset*width, numel*width
	return view, nil
}

// fill reads the elements, which start at a place of the file.
func (l *legacyStorages) fill(s *span, at int64, keys any) error {
	list, ok := keys.([]any)
	if !ok {
		return ir.Errorf(ir.ErrFormat, "storage keys: expected a list, got %s", pyTypeName(keys))
	}
	filled := map[string]bool{}
	for _, k := range list {
		key, _ := k.(string)
		root := l.roots[key]
		switch {
		case root == nil || filled[key]:
			return ir.Errorf(ir.ErrFormat, "storage %s: expected the key of a storage of the value, once", valueText(k))
		case s.size-at < 8:
			return ir.Errorf(ir.ErrFormat, "storage %s: expected its size, got the end of the file", clip(key))
		}
		head, err := s.slice(at, 8)
		if err != nil {
			return err
		}
		at += 8
		width := int64(1)
		if root.dtype.Valid() {
			width = int64(root.dtype.Size())
		}
		if n := binary.LittleEndian.Uint64(head); n != uint64(root.size/width) {
			return ir.Errorf(ir.ErrFormat, "storage %s: expected %d elements, got %d", clip(key), root.size/width, n)
		}
		if root.size > s.size-at {
			return ir.Errorf(ir.ErrFormat, "storage %s: expected %d bytes, got the end of the file after %d", clip(key), root.size, s.size-at)
		}
		if !l.bare {
			data, err := s.slice(at, root.size)
			if err != nil {
				return err
			}
			*root.storage = *storageOf(s, data, alignment)
		}
		at += root.size
		filled[key] = true
	}
	if len(filled) != len(l.roots) {
		return ir.Errorf(ir.ErrFormat, "storages: expected %d, got %d", len(l.roots), len(filled))
	}
	return nil
}
