package ir

// SizeNode appends a call that gives the size of tensor t along dim, which may
// be negative. Where meta says what t is, the new node's meta says what the size
// is. Follows torch.fx Graph.create_size_node, which passes the dim on as it is.
func (g *Graph) SizeNode(t *Node, dim int) *Node {
	n := g.CallFunction(OverloadOf("aten::sym_size.int"), []Arg{t, Int(dim)})
	n.describeSize(t, func(m TensorMeta) []Size { return m.Sizes }, dim)
	return n
}

// StrideNode appends a call that gives the stride of tensor t along dim. Follows
// torch.fx Graph.create_stride_node; see [Graph.SizeNode].
func (g *Graph) StrideNode(t *Node, dim int) *Node {
	n := g.CallFunction(OverloadOf("aten::sym_stride.int"), []Arg{t, Int(dim)})
	n.describeSize(t, func(m TensorMeta) []Size { return m.Strides }, dim)
	return n
}

// StorageOffsetNode appends a call that gives the storage offset of tensor t.
// Follows torch.fx Graph.create_storage_offset_node; see [Graph.SizeNode].
func (g *Graph) StorageOffsetNode(t *Node) *Node {
	n := g.CallFunction(OverloadOf("aten::sym_storage_offset"), []Arg{t})
	n.describeSize(t, func(m TensorMeta) []Size { return []Size{m.StorageOffset} }, 0)
	return n
}

// describeSize notes under the key by which meta knows t that n is one of the
// sizes of t.
func (n *Node) describeSize(t *Node, of func(TensorMeta) []Size, dim int) {
	for _, key := range []string{MetaVal, MetaExampleValue} {
		m, ok := t.meta.Get(key).(TensorMeta)
		if !ok {
			continue
		}
		sizes := of(m)
		if dim < 0 {
			dim += len(sizes)
		}
		if dim < 0 || dim >= len(sizes) {
			return
		}
		s := SymScalar{Kind: TypeSymInt, Expr: sizes[dim].Expr(), Hint: None{}}
		if known, ok := sizes[dim].Known(); ok {
			s = SymScalar{Kind: TypeSymInt, Hint: Int(known)}
		} else if hint := sizes[dim].Hint(); hint > 0 {
			s.Hint = Int(hint)
		}
		n.meta.Set(key, s)
		return
	}
}
