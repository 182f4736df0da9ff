package export

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// reference writes the value of a node as an Argument.
func (g *graphEncoder) reference(n *ir.Node) {
	if n.Op() == ir.GetAttr {
		g.attribute(n)
		return
	}
	name := g.nameOf(n)
	def := g.named[name]
	if def == nil {
		switch v := g.value(n).(type) {
		case ir.None, ir.Int, ir.Float, ir.Bool, ir.Str: // an input that is a constant, a result that is None
			g.literal(v.(ir.Arg))
		default:
			if _, several := g.several(n); several {
				g.fault(ir.ErrUnsupported, "reads all results of %s at once: expected one of them", n.Name())
			} else {
				g.fault(ir.ErrValue, "reads %s, which has no value yet", n.Name())
			}
			g.literal(ir.None{})
		}
		return
	}
	kind, val := g.kind(def)
	g.tag(kind, name, val)
}

// kind says in which table the value of a node is.
func (g *graphEncoder) kind(n *ir.Node) (entryKind, any) {
	val := g.value(n)
	if n.Func() == getitem {
		from, _ := n.Arg(0).(*ir.Node)
		i, _ := n.Arg(1).(ir.Int)
		if items, ok := g.several(from); ok && i >= 0 && int(i) < len(items) {
			val = items[i]
		}
	}
	kind, _ := kindOf(val)
	return kind, val
}

// tag writes a named value.
func (g *graphEncoder) tag(kind entryKind, name string, val any) {
	switch kind {
	case objectEntry:
		g.tagged(asCustomObj.String(), func() { g.object(func() { g.objectFields(name, val) }) })
	case tensorEntry:
		g.tagged(asTensor.String(), func() { g.name(name) })
	default:
		g.tagged(symTags[kind].String(), func() { g.tagged("as_name", func() { g.str(name) }) })
	}
}

var symTags = map[entryKind]argTag{symIntEntry: asSymInt, symFloatEntry: asSymFloat, symBoolEntry: asSymBool}

func (g *graphEncoder) objectFields(name string, val any) {
	o, _ := val.(ObjectMeta)
	g.key("name")
	g.str(name)
	g.key("class_fqn")
	g.str(o.Class)
}

// attribute writes a subgraph in its place.
func (g *graphEncoder) attribute(n *ir.Node) {
	path := n.Target().String()
	v, _ := g.module.Attr(path)
	sub, ok := v.(*ir.GraphModule)
	switch {
	case !ok:
		g.fault(ir.ErrUnsupported, "reads the attribute %s: expected a graph there; tensors are inputs in a program", path)
		g.literal(ir.None{})
		return
	case !isIdentifier(path):
		g.fault(ir.ErrUnsupported, "subgraph %s: expected a name without dots", path)
	}
	inner := &graphEncoder{encoder: g.encoder, module: sub, path: path}
	if g.path != "" {
		inner.path = g.path + "." + path
	}
	if strings.Count(inner.path, ".") >= maxGraphs {
		g.fault(ir.ErrUnsupported, "expected at most %d nested graphs", maxGraphs)
		return
	}
	g.tagged(asGraph.String(), func() {
		g.object(func() {
			g.key("name")
			g.str(path)
			g.key("graph")
			g.object(inner.graph)
		})
	})
}

// arg writes an argument; t is its type in the schema, nil where there is none.
func (g *graphEncoder) arg(a ir.Arg, t *ir.Type) {
	switch v := a.(type) {
	case *ir.Node:
		g.reference(v)
	case ir.List:
		g.seq(itemsOf(v.All()), t)
	case ir.Tuple:
		g.seq(itemsOf(v.All()), t)
	case ir.Dict:
		g.tagged(asStringToArgument.String(), func() {
			g.object(func() {
				for key, value := range v.All() {
					name, ok := key.(ir.Str)
					if !ok {
						g.fault(ir.ErrUnsupported, "expected names as the keys of a dict, got %s", ir.Repr(key))
					}
					g.key(string(name))
					g.arg(value, nil)
				}
			})
		})
	default:
		g.literal(a)
	}
}

func itemsOf(all func(func(int, ir.Arg) bool)) []ir.Arg {
	var items []ir.Arg
	for _, item := range all {
		items = append(items, item)
	}
	return items
}

// literal writes an argument that is no value of the graph.
func (g *graphEncoder) literal(a ir.Arg) {
	switch v := a.(type) {
	case nil, ir.None:
		g.tagged(asNone.String(), func() { g.bool(true) })
	case ir.Bool:
		g.tagged(asBool.String(), func() { g.bool(bool(v)) })
	case ir.Int:
		g.tagged(asInt.String(), func() { g.int(int64(v)) })
	case ir.Float:
		g.tagged(asFloat.String(), func() { g.float(float64(v)) })
	case ir.Str:
		g.tagged(asString.String(), func() { g.str(string(v)) })
	case ir.Complex:
		g.tagged(asComplex.String(), func() {
			g.object(func() {
				g.key("real")
				g.float(real(complex128(v)))
				g.key("imag")
				g.float(imag(complex128(v)))
			})
		})
	case ir.DType:
		g.number(asScalarType, v.Export(), v.String())
	case ir.Layout:
		g.number(asLayout, v.Export(), v.String())
	case ir.MemoryFormat:
		g.number(asMemoryFormat, v.Export(), v.String())
	case ir.Device:
		g.tagged(asDevice.String(), func() { writeDevice(&g.jsonWriter, v) })
	case *ir.Func:
		if v.Kind() != ir.Overload && v.Kind() != ir.HigherOrder {
			g.fault(ir.ErrUnsupported, "function %s as an argument: expected an operator", v)
		}
		g.tagged(asOperator.String(), func() { g.str(targetText(v)) })
	default:
		g.fault(ir.ErrUnsupported, "argument %s (%T) has no form in a program", ir.Repr(a), a)
		g.tagged(asNone.String(), func() { g.bool(true) })
	}
}

// number writes an enum by its number in the schema.
func (g *graphEncoder) number(tag argTag, n int, what string) {
	if n == 0 {
		g.fault(ir.ErrUnsupported, "%s has no number in the schema", what)
	}
	g.tagged(tag.String(), func() { g.int(int64(n)) })
}

// itemKinds are sets of what an item of a list may be.
type itemKinds uint16

const (
	boolItem itemKinds = 1 << iota
	intItem
	floatItem
	strItem
	noneItem
	tensorItem
	symIntItem
	symFloatItem
	symBoolItem
	listItem
	otherItem
)

// itemKind says what an item is.
func (g *graphEncoder) itemKind(a ir.Arg) itemKinds {
	switch v := a.(type) {
	case ir.Bool:
		return boolItem
	case ir.Int:
		return intItem
	case ir.Float:
		return floatItem
	case ir.Str:
		return strItem
	case ir.None:
		return noneItem
	case ir.List, ir.Tuple:
		return listItem
	case *ir.Node:
		def := g.named[g.nameOf(v)]
		if v.Op() == ir.GetAttr {
			return otherItem
		}
		if def == nil {
			return tensorItem // a fault is noted where it is written
		}
		kind, _ := g.kind(def)
		return [...]itemKinds{tensorEntry: tensorItem, symIntEntry: symIntItem, symFloatEntry: symFloatItem, symBoolEntry: symBoolItem, objectEntry: otherItem}[kind]
	}
	return otherItem
}

// seq writes a list. Python's serializer tells the tag by the items alone, in
// this order; the type decides for empty lists, and where ints stand for floats.
func (g *graphEncoder) seq(items []ir.Arg, t *ir.Type) {
	var has itemKinds
	for _, a := range items {
		has |= g.itemKind(a)
	}
	elem := elementType(t)
	if has == intItem|floatItem && elem != nil && elem.Kind == ir.TypeFloat {
		has = floatItem
	}
	only := func(kinds itemKinds) bool { return has&^kinds == 0 }
	switch {
	case has == 0:
		g.empty(elem)
	case only(boolItem):
		g.plain(asBools, items, func(a ir.Arg) { g.bool(bool(a.(ir.Bool))) })
	case only(intItem):
		g.plain(asInts, items, func(a ir.Arg) { g.int(int64(a.(ir.Int))) })
	case only(floatItem):
		g.plain(asFloats, items, g.asFloat)
	case only(strItem):
		g.plain(asStrings, items, func(a ir.Arg) { g.str(string(a.(ir.Str))) })
	case only(intItem | symIntItem):
		g.plain(asSymInts, items, g.symItem)
	case only(floatItem | symFloatItem):
		g.plain(asSymFloats, items, g.symItem)
	case only(boolItem | symBoolItem):
		g.plain(asSymBools, items, g.symItem)
	case only(tensorItem | symIntItem | symFloatItem | symBoolItem): // operands of higher-order operators may mix them
		g.plain(asTensors, items, g.tensorItem)
	case only(tensorItem | noneItem):
		g.plain(asOptionalTensors, items, func(a ir.Arg) {
			if _, none := a.(ir.None); none {
				g.literal(a)
				return
			}
			g.tagged(asTensor.String(), func() { g.tensorItem(a) })
		})
	case only(listItem):
		g.nested(items)
	default:
		g.fault(ir.ErrUnsupported, "list %s: expected items of one kind", ir.Repr(ir.ListOf(items...)))
		g.empty(nil)
	}
}

// elementType returns the type of the items of a list type.
func elementType(t *ir.Type) *ir.Type {
	if t != nil && t.Kind == ir.TypeOptional {
		t = t.Elem
	}
	if t == nil || t.Kind != ir.TypeList {
		return nil
	}
	if t = t.Elem; t != nil && t.Kind == ir.TypeOptional {
		t = t.Elem
	}
	return t
}

// empty writes an empty list with the tag that its type has.
func (g *graphEncoder) empty(elem *ir.Type) {
	tag := asTensors
	if elem != nil {
		switch elem.Kind {
		case ir.TypeBool, ir.TypeSymBool:
			tag = asBools
		case ir.TypeInt, ir.TypeSymInt:
			tag = asInts
		case ir.TypeFloat, ir.TypeSymFloat, ir.TypeScalar:
			tag = asFloats
		case ir.TypeStr:
			tag = asStrings
		case ir.TypeList:
			tag = asIntLists
			if elem.Elem != nil && elem.Elem.Kind == ir.TypeFloat {
				tag = asFloatLists
			}
		}
	}
	g.plain(tag, nil, nil)
}

func (g *graphEncoder) plain(tag argTag, items []ir.Arg, write func(ir.Arg)) {
	g.tagged(tag.String(), func() {
		g.list(func() {
			for _, a := range items {
				write(a)
			}
		})
	})
}

func (g *graphEncoder) asFloat(a ir.Arg) {
	if n, ok := a.(ir.Int); ok {
		g.float(float64(n))
		return
	}
	g.float(float64(a.(ir.Float)))
}

// symItem writes an item of a list of symbolic numbers.
func (g *graphEncoder) symItem(a ir.Arg) {
	if n, ok := a.(*ir.Node); ok {
		g.tagged("as_name", func() { g.str(g.nameOf(n)) })
		return
	}
	g.literal(a)
}

// tensorItem writes the name of an item of a list of tensors.
func (g *graphEncoder) tensorItem(a ir.Arg) {
	n := a.(*ir.Node)
	if g.named[g.nameOf(n)] == nil {
		g.fault(ir.ErrValue, "reads %s, which is no single value", n.Name())
	}
	g.name(g.nameOf(n))
}

// nested writes a list of lists: of tensors, of ints or of floats.
func (g *graphEncoder) nested(items []ir.Arg) {
	lists := make([][]ir.Arg, len(items))
	var has itemKinds
	for i, a := range items {
		switch v := a.(type) {
		case ir.List:
			lists[i] = itemsOf(v.All())
		case ir.Tuple:
			lists[i] = itemsOf(v.All())
		}
		for _, item := range lists[i] {
			has |= g.itemKind(item)
		}
	}
	var tag argTag
	var write func(ir.Arg)
	switch has {
	case tensorItem, 0:
		tag, write = asNestedTensors, g.tensorItem
	case intItem:
		tag, write = asIntLists, func(a ir.Arg) { g.int(int64(a.(ir.Int))) }
	case floatItem:
		tag, write = asFloatLists, g.asFloat
	default:
		g.fault(ir.ErrUnsupported, "list %s: expected lists of tensors, ints or floats in it", ir.Repr(ir.ListOf(items...)))
	}
	g.tagged(tag.String(), func() {
		g.list(func() {
			for _, list := range lists {
				g.list(func() {
					for _, item := range list {
						if write != nil {
							write(item)
						}
					}
				})
			}
		})
	})
}
