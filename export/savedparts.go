package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// constructorOfParts adds the arguments of a constructor that no attribute of its
// name tells, but the parts of the module do.
func (m *SavedModule) constructorOfParts(state *ir.PyDict) {
	if strings.HasSuffix(m.Class, "Loss") || strings.HasPrefix(m.Class, "FractionalMaxPool") {
		for _, t := range m.buffers { // weight, pos_weight, _random_samples
			m.Args = append(m.Args, SavedArg{Name: t.name, Text: emptyText(t.tensor), Tensor: t.tensor})
		}
	}
	switch m.Class {
	case "MultiheadAttention":
		k, _ := entry(state, "_parameters").Get("bias_k")
		m.put("add_bias_kv", ir.Bool(k != nil))
		m.put("bias", m.arg("out_proj", "bias"))
	case "TransformerEncoderLayer", "TransformerDecoderLayer":
		m.put("d_model", m.arg("linear1", "in_features"))
		m.put("nhead", m.arg("self_attn", "num_heads"))
		m.put("dim_feedforward", m.arg("linear1", "out_features"))
		m.put("dropout", m.arg("dropout", "p"))
		m.put("layer_norm_eps", m.arg("norm1", "eps"))
		m.put("batch_first", m.arg("self_attn", "batch_first"))
		m.put("bias", m.arg("linear1", "bias"))
		if f, _ := state.Get("activation"); f == PyGlobal("torch._C._nn.gelu") || f == PyGlobal("torch.nn.functional.gelu") {
			m.put("activation", ir.Str("gelu"))
		}
	case "TransformerEncoder":
		m.putModule("encoder_layer", "layers.0")
		m.putModule("norm", "norm")
	case "TransformerDecoder":
		m.putModule("decoder_layer", "layers.0")
		m.putModule("norm", "norm")
	case "Transformer":
		m.put("num_encoder_layers", m.arg("encoder", "num_layers"))
		m.put("num_decoder_layers", m.arg("decoder", "num_layers"))
		for _, name := range []string{"dim_feedforward", "dropout", "activation", "layer_norm_eps", "norm_first", "bias"} {
			m.put(name, m.arg("encoder.layers.0", name))
		}
	case "AdaptiveLogSoftmaxWithLoss":
		for i, a := range m.Args {
			if cutoffs, ok := a.Value.(ir.List); ok && a.Name == "cutoffs" && cutoffs.Len() > 0 { // n_classes stands at the end
				m.Args = slices.Delete(m.Args, i, i+1)
				m.put("cutoffs", ir.ListOf(slices.Collect(values(cutoffs.All()))[:cutoffs.Len()-1]...))
				break
			}
		}
	case "PairwiseDistance":
		for i, a := range m.Args {
			if a.Name == "norm" {
				m.Args[i].Name = "p"
			}
		}
	}
}

func values(items func(func(int, ir.Arg) bool)) func(func(ir.Arg) bool) {
	return func(yield func(ir.Arg) bool) {
		items(func(_ int, a ir.Arg) bool { return yield(a) })
	}
}

// put adds an argument that is known.
func (m *SavedModule) put(name string, a ir.Arg) {
	if a != nil {
		m.Args = append(m.Args, SavedArg{Name: name, Text: ir.Repr(a), Value: a})
	}
}

// putModule adds an argument that is the module at a path below m.
func (m *SavedModule) putModule(name, path string) {
	if c := m.below(path); c != nil {
		m.Args = append(m.Args, SavedArg{Name: name, Text: c.Class, Module: c})
	}
}

func (m *SavedModule) below(path string) *SavedModule {
	for _, name := range strings.Split(path, ".") {
		if m = m.Child(name); m == nil {
			return nil
		}
	}
	return m
}

// arg returns an argument of the module at a path below m, nil where it is not
// known.
func (m *SavedModule) arg(path, name string) ir.Arg {
	if c := m.below(path); c != nil {
		for _, a := range c.Args {
			if a.Name == name {
				return a.Value
			}
		}
	}
	return nil
}
