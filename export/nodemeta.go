package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A metadata is what a node of the file says about where it comes from, as it
// goes on the node and on its getitems.
type metadata []metaEntry

type metaEntry struct {
	key   string
	value any
}

func (m metadata) addTo(meta *ir.Meta) {
	for _, e := range m {
		meta.Set(e.key, e.value)
	}
}

// metaKeys are the keys that Python's loader reads, in its order.
var metaKeys = []string{ir.MetaStackTrace, ir.MetaNNModuleStack, ir.MetaSourceFnStack, ir.MetaTorchFn, ir.MetaCustom, ir.MetaFromNode}

// metadata reads a node's metadata. What is malformed is kept as text, with a
// warning: no run depends on it.
func (s *scope) metadata(pairs []stringPair) metadata {
	var m metadata
	for _, key := range metaKeys {
		for _, p := range pairs {
			if p.key != key || p.value == "" {
				continue
			}
			var value any = p.value
			if key == ir.MetaNNModuleStack {
				if stack, ok := s.moduleStack(p.value); ok {
					value = stack
				} else {
					s.faults.warn("%s, %s: nn_module_stack is malformed", s.record, s.node)
				}
			}
			m = append(m, metaEntry{key, value})
		}
	}
	var others []stringPair
	for _, p := range pairs {
		if !slices.Contains(metaKeys, p.key) {
			others = append(others, p)
		}
	}
	if others != nil {
		m = append(m, metaEntry{metaOthers, others})
	}
	return m
}

// metaOthers is the key of what PyTorch's loader does not read of a node's
// metadata, which goes into a file that is written of the program.
const metaOthers = "torch.export.others"

// moduleStack parses a text once, since all nodes of a module share it.
func (b *builder) moduleStack(text string) ([]ir.ModuleCall, bool) {
	if stack, ok := b.stacks[text]; ok {
		return stack, true
	}
	stack, ok := parseModuleStack(text)
	if ok {
		if b.stacks == nil {
			b.stacks = map[string][]ir.ModuleCall{}
		}
		b.stacks[text] = stack
	}
	return stack, ok
}

// parseModuleStack reads "key,path,type" joined by semicolons; commas in brackets do
// not split.
func parseModuleStack(text string) ([]ir.ModuleCall, bool) {
	var stack []ir.ModuleCall
	for _, item := range strings.Split(text, ";") {
		var parts []string
		depth, start := 0, 0
		for i := range len(item) {
			switch item[i] {
			case '[', '(':
				depth++
			case ']', ')':
				depth--
			case ',':
				if depth == 0 {
					parts = append(parts, item[start:i])
					start = i + 1
				}
			}
		}
		if parts = append(parts, item[start:]); len(parts) != 3 {
			return nil, false
		}
		stack = append(stack, ir.ModuleCall{Key: parts[0], Path: parts[1], Type: parts[2]})
	}
	return stack, true
}

// An ObjectMeta is what is known of a custom object: the value of a node's meta.
type ObjectMeta struct{ Class string }

// value decodes an entry of the value tables into what a node's meta holds.
func (s *scope) value(name string, e tableEntry) any {
	d := s.decoder
	defer d.in("value " + clip(name))()
	switch e.kind {
	case tensorEntry:
		m := d.tensorMeta(e.value)
		return ir.TensorMeta{
			DType: m.dtype, Sizes: s.sizes(m.sizes), Strides: s.sizes(m.strides), StorageOffset: s.size(m.offset),
			Device: m.device, Layout: m.layout, RequiresGrad: m.requiresGrad,
		}
	case symIntEntry:
		return s.scalar(d.sym(e.value, asInt), ir.TypeSymInt)
	case symFloatEntry:
		return s.scalar(d.sym(e.value, asFloat), ir.TypeSymFloat)
	case symBoolEntry:
		return s.scalar(d.sym(e.value, asBool), ir.TypeSymBool)
	}
	var f [2]jsonValue
	d.object(e.value, objectFields, f[:])
	return ObjectMeta{d.str(f[1], "class_fqn")}
}

func (b *builder) sizes(syms []symJSON) []ir.Size {
	out := make([]ir.Size, len(syms))
	for i, s := range syms {
		out[i] = b.size(s)
	}
	return out
}

func (b *builder) size(s symJSON) ir.Size {
	n, _ := s.lit.(ir.Int)
	if s.expr == "" {
		return ir.SizeOf(int64(n))
	}
	return ir.SymbolicSize(b.expr(s.expr), int64(n))
}

func (b *builder) scalar(s symJSON, kind ir.TypeKind) ir.SymScalar {
	v := ir.SymScalar{Kind: kind, Hint: s.lit}
	if s.expr != "" {
		v.Expr = b.expr(s.expr)
	}
	if v.Hint == nil {
		v.Hint = ir.None{}
	}
	return v
}

// expr parses the text of an expression. Text that is none stands as a symbol
// of its own, about which nothing is known: that costs checks, not execution.
func (b *builder) expr(text string) *ir.Expr {
	if e, ok := b.exprs[text]; ok {
		return e
	}
	e, err := ir.ParseExpr(text)
	if err != nil {
		b.faults.warn("%s: expression %q is not understood and is not evaluated: %v", b.record, clip(text), err)
		symbol := fmt.Sprintf("unparsed_%d", len(b.unparsed))
		if b.unparsed == nil {
			b.unparsed = map[string]string{}
		}
		b.unparsed[symbol] = text
		e = ir.SymbolExpr(symbol)
	}
	if b.exprs == nil {
		b.exprs = map[string]*ir.Expr{}
	}
	b.exprs[text] = e
	return e
}
