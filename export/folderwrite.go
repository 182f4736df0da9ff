package export

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// torchLayers are the classes of torch.nn, which module.py imports. Source:
// torch.nn.modules of 2.15.0.
var torchLayers = func() map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(`
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool1d
AdaptiveMaxPool2d AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss
BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU CTCLoss ChannelShuffle CircularPad1d CircularPad2d
CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
ConvTranspose3d CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d Dropout Dropout1d
Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold FractionalMaxPool2d
FractionalMaxPool3d GELU GLU GRU GRUCell GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh
HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d
LPPool2d LPPool3d LSTM LSTMCell LayerNorm LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d
LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d
LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LeakyReLU Linear LinearCrossEntropyLoss LocalResponseNorm
LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d
MaxUnpool3d Mish Module ModuleDict ModuleList MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss
MultiheadAttention NLLLoss NLLLoss2d PReLU PairwiseDistance PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm
RNN RNNBase RNNCell RNNCellBase RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d
ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU Sigmoid SmoothL1Loss SoftMarginLoss
Softmax Softmax2d Softmin Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink Threshold Transformer
TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer TripletMarginLoss
TripletMarginWithDistanceLoss Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d
ZeroPad2d ZeroPad3d`) {
		set[name] = true
	}
	return set
}()

// A FolderOption changes what [ToFolder] writes.
type FolderOption func(*folderConfig)

type folderConfig struct{ complete bool }

// Complete makes module.py importable where torch.fx's own text is not: the
// imports of other globals and the wrapping of functions stand at the top of the
// file, and the class has the specs of a pytree signature. Default: the text of
// torch.fx.
func Complete() FolderOption { return func(c *folderConfig) { c.complete = true } }

// ToFolder saves a module as torch.fx's GraphModule.to_folder does, so that
// Python imports it by `from dir import name`: module.py with the class,
// state_dict.pt, and __init__.py. The folder is made when it is not there. A
// graph.json beside them holds what the text does not say, for [LoadFolder].
//
// Attributes of the module are *Tensor, or modules that are a [FolderModule].
// Where torch.fx pickles a child, because it does not trust its repr, this writes
// the statements that make it: a pickle runs code when it is loaded. A
// padding_mode is quoted, which torch.fx forgets.
//
// It fails, naming all of them, for attributes that are neither, modules that
// are no layers or containers of torch.nn, and names that Python's statements
// cannot hold; nothing is written then.
func ToFolder(m *ir.GraphModule, dir, name string, opts ...FolderOption) error {
	var c folderConfig
	for _, o := range opts {
		o(&c)
	}
	w := &folderWriter{dir: filepath.ToSlash(dir), name: name, cfg: c, root: &SavedModule{Class: "Module"}}
	w.collect(m)
	code, err := m.Graph().PythonCode("self")
	if err != nil {
		w.faults.err(err)
	}
	if !isPythonName(name) {
		w.faults.add(ir.ErrValue, "to folder: expected a name for the class, got %s", name)
	}
	if strings.ContainsAny(w.dir, "'\n\r") {
		w.faults.add(ir.ErrValue, "to folder: expected a path without quotes and line breaks, got %s", w.dir)
	}
	w.children()
	if err := w.faults.join(); err != nil {
		return err
	}
	facts, err := factsOf(m.Graph(), code)
	if err != nil {
		return err
	}
	extra, err := json.MarshalIndent(facts, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	state, err := os.Create(filepath.Join(dir, folderState))
	if err != nil {
		return err
	}
	if err := WriteState(state, w.root.State()); err != nil {
		state.Close()
		return err
	}
	if err := state.Close(); err != nil {
		return err
	}
	for name, text := range map[string]string{
		folderModule: w.text(code, facts), folderInit: "from .module import *", folderExtra: string(extra) + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var pythonName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

func isPythonName(s string) bool { return pythonName.MatchString(s) }

type folderWriter struct {
	dir, name string
	cfg       folderConfig
	root      *SavedModule
	lines     []string // of __init__
	faults    faults
}

// collect puts the attributes of the module into a tree.
func (w *folderWriter) collect(m *ir.GraphModule) {
	for path, v := range m.Attrs() {
		parent := w.root
		parts := strings.Split(path, ".")
		for _, name := range parts[:len(parts)-1] {
			parent = parent.child(name)
		}
		base := parts[len(parts)-1]
		switch v := v.(type) {
		case *Tensor:
			parent.setTensor(base, v)
		case FolderModule:
			c := parseRepr(v.Repr())
			w.fill(path, c, v)
			if parent.Child(base) != nil {
				w.faults.add(ir.ErrValue, "to folder: attribute %s: expected no other below it", path)
				continue
			}
			parent.add(base, c)
		default:
			w.faults.add(ir.ErrUnsupported, "to folder: attribute %s: expected a tensor or a layer of torch.nn, got %s", path, fmt.Sprintf("%T", v))
		}
	}
}

// fill gives the tensors of v to the modules that its repr shows. Alike children
// that a repr counts are told apart first.
func (w *folderWriter) fill(path string, c *SavedModule, v FolderModule) {
	split(c)
	for name, t := range v.State() {
		m := c
		parts := strings.Split(name, ".")
		for _, piece := range parts[:len(parts)-1] {
			if m = m.Child(piece); m == nil {
				w.faults.add(ir.ErrValue, "to folder: tensor %s: expected its module in the repr, got %s", path+"."+name, c.Repr())
				return
			}
		}
		m.setTensor(parts[len(parts)-1], t)
	}
}

func split(m *SavedModule) {
	for i, c := range m.Children {
		own := *c
		own.params, own.buffers = nil, nil
		own.Names, own.Children = slices.Clone(c.Names), slices.Clone(c.Children)
		m.Children[i] = &own
		split(&own)
	}
}

// children writes the statements that make the modules and tensors, in the order
// of torch.fx: children, buffers, parameters; then what lies below the children.
func (w *folderWriter) children() {
	var below []func()
	for i, c := range w.root.Children {
		name := w.root.Names[i]
		w.checkName(name)
		w.add("setattr(self, '" + name + "', " + w.expression(name, c) + ")")
		below = append(below, func() { w.below(name, c) })
	}
	for _, t := range w.root.buffers {
		w.checkName(t.name)
		w.add("self.register_buffer('" + t.name + "', " + emptyText(t.tensor) + ")")
	}
	for _, t := range w.root.params {
		w.checkName(t.name)
		w.add("setattr(self, '" + t.name + "', torch.nn.Parameter(" + emptyText(t.tensor) + "))")
	}
	for _, f := range below {
		f()
	}
}

// below writes what lies in a container.
func (w *folderWriter) below(path string, m *SavedModule) {
	if !isContainer(m) {
		return // a layer makes its own
	}
	at := "self.get_submodule('" + path + "')"
	for i, c := range m.Children {
		w.checkName(m.Names[i])
		w.add(at + ".add_module('" + m.Names[i] + "', " + w.expression(path+"."+m.Names[i], c) + ")")
		w.below(path+"."+m.Names[i], c)
	}
	for _, t := range m.buffers {
		w.checkName(t.name)
		w.add(at + ".register_buffer('" + t.name + "', " + emptyText(t.tensor) + ")")
	}
	for _, t := range m.params {
		w.checkName(t.name)
		w.add(at + ".register_parameter('" + t.name + "', torch.nn.Parameter(" + emptyText(t.tensor) + "))")
	}
}

func (w *folderWriter) add(line string) { w.lines = append(w.lines, line) }

// checkName refuses what would end a quoted name in a statement.
func (w *folderWriter) checkName(name string) {
	if name == "" || printable(name) != name || strings.ContainsAny(name, `'\`) {
		w.faults.add(ir.ErrValue, "to folder: attribute %s: expected a name without quotes and backslashes", name)
	}
}

func emptyText(t *Tensor) string {
	return "torch.empty(" + listText(t.Sizes) + ", dtype=" + t.DType.String() + ")"
}

// isContainer reports whether a module does nothing but hold others.
func isContainer(m *SavedModule) bool {
	return m.Class == "Module" || m.Class == "Sequential" || m.Class == "ModuleList" || m.Class == "ModuleDict"
}

// unquotedMode is how torch.nn's repr writes a padding mode.
var unquotedMode = regexp.MustCompile(`^[a-z_]+$`)

// expression is what makes a module.
func (w *folderWriter) expression(path string, m *SavedModule) string {
	if isContainer(m) && m.line == "" {
		if m.Class == "Module" {
			return "torch.nn.Module()"
		}
		return m.Class + "()"
	}
	if m.line != "" || len(m.Children) > 0 || !torchLayers[m.Class] {
		w.faults.add(ir.ErrUnsupported, "to folder: module %s: expected a layer of torch.nn whose repr makes it, got %s", path, m.Repr())
		return ""
	}
	c := *m
	c.Args = slices.Clone(m.Args)
	for i, a := range c.Args {
		if a.Name == "padding_mode" && unquotedMode.MatchString(a.Text) {
			c.Args[i].Text = "'" + a.Text + "'"
		} else if a.Value == nil || a.Name != "" && !isPythonName(a.Name) {
			w.faults.add(ir.ErrUnsupported, "to folder: module %s: expected literals as arguments, got %s", path, m.Repr())
		}
	}
	return c.Repr()
}

// text is the module.py.
func (w *folderWriter) text(code *ir.PythonCode, facts folderFacts) string {
	source, top := code.Source, ""
	if w.cfg.complete {
		source, top = w.complete(code, facts)
	}
	var b strings.Builder
	b.WriteString("\nimport torch\nfrom math import inf\nfrom math import nan\nNoneType = type(None)\nimport torch\n" +
		"from torch import device\nimport torch.fx._pytree as fx_pytree\nimport torch.utils._pytree as pytree\n" + top +
		"\nfrom torch.nn import *\nclass " + w.name + "(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n")
	for _, line := range w.lines {
		b.WriteString("        " + line + "\n")
	}
	b.WriteString("        self.load_state_dict(torch.load(r'" + w.dir + "/" + folderState + "'))\n")
	for i, line := range strings.Split(source, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString("    " + line)
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// complete returns the source without its wrap lines, and the lines that belong
// to the top of the file; the specs of a pytree join the statements of the class.
func (w *folderWriter) complete(code *ir.PythonCode, facts folderFacts) (source, top string) {
	standard := map[string]bool{}
	plain, err := ir.NewGraph().PythonCode("self")
	if err == nil {
		for _, line := range plain.Imports() {
			standard[line] = true
		}
	}
	var lines []string
	for _, line := range code.Imports() {
		if !standard[line] {
			lines = append(lines, line)
		}
	}
	source = code.Source
	for line := range strings.Lines(code.Source) {
		if strings.HasPrefix(line, "torch.fx._symbolic_trace.wrap(") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
			source = strings.Replace(source, line, "", 1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(map[string]string{"_in_spec": facts.In, "_out_spec": facts.Out})) {
		text := facts.In
		if name == "_out_spec" {
			text = facts.Out
		}
		if text != "" {
			w.add("self." + name + " = pytree.treespec_loads(" + ir.Repr(ir.Str(text)) + ")")
		}
	}
	if lines == nil {
		return source, ""
	}
	return source, strings.Join(lines, "\n") + "\n"
}
