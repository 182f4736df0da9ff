package tracer

import (
	"fmt"
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Append returns a tracer whose calls go to the end of g, or to its insertion
// point. Values come from [Tracer.Value]. Same as upstream's
// GraphAppendingTracer, plus constants: real tensors that meet a value are kept
// for [Tracer.Attrs].
func Append(g *ir.Graph, opts ...Option) *Tracer {
	t := New(opts...)
	t.begin(g)
	return t
}

// Value returns what stands for n in model code.
func (t *Tracer) Value(n *ir.Node) torch.Value { return torch.NewValue(t, n) }

// Lower returns v as an argument of a node of this trace.
func (t *Tracer) Lower(v any) (a ir.Arg, err error) {
	err = t.protect(func() { a = t.lower(v) })
	return a, err
}

// Attrs returns what the trace's get_attr and call_module nodes name: constants
// and leaf modules.
func (t *Tracer) Attrs() map[string]any { return maps.Clone(t.attrs) }

// Follow makes the nodes recorded from now on carry over where n came from: its
// stack trace, its modules and the like, but no shapes; nil ends that. Where n has
// any meta, they name n under [ir.MetaFromNode] as what the pass made them of; what
// a file says there stays. Source of the list: torch.fx.proxy._COPY_META_FIELDS and
// torch.fx.traceback.set_current_meta of 2.15.
func (t *Tracer) Follow(n *ir.Node, pass string) { t.following, t.pass = n, pass }

var carried = []string{
	ir.MetaNNModuleStack, ir.MetaTorchFn, ir.MetaSourceFnStack, "original_aten", "recompute", "ac_graph_id",
	"has_backward_hook", ir.MetaFromNode, "quantization_tag", "_numeric_debug_handle", ir.MetaCustom, "partitioner_tag",
	ir.MetaStackTrace, "seq_nr", "autograd_backward",
}

func (t *Tracer) carry(n *ir.Node) {
	for _, key := range carried {
		if t.following.Meta().Has(key) {
			n.Meta().Set(key, t.following.Meta().Get(key))
		}
	}
	if _, ofFile := t.following.Meta().Get(ir.MetaFromNode).(string); !ofFile && t.following.Meta().Len() > 0 {
		graph := fmt.Sprintf("%p", t.following.Graph())
		n.Meta().Set(ir.MetaFromNode, []ir.NodeSource{ir.NewNodeSource(t.following, graph, t.pass, ir.SourceCreate)})
	}
}
