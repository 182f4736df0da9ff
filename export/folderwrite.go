package export

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/internal/wholefile"
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
// Attributes of the module are *Tensor, modules that are a [FolderModule], and
// *[ir.GraphModule]. Where torch.fx pickles a child, because it does not trust its
// repr, this writes the statements that make it: a pickle runs code when it is
// loaded. A layer is then made of all arguments of its constructor, which a
// [SavedModule] tells where it is Whole; a child that is a graph module has a class
// of its own above. padding and padding_mode are
// quoted, which torch.fx forgets. As with
// torch.fx, tensors and modules that stand in several places are several ones
// when the folder is loaded.
//
// It fails, naming all of them, for attributes that are none of these, modules
// that are no layers or containers of torch.nn, and names that Python's statements
// cannot hold; nothing is written then.
func ToFolder(m *ir.GraphModule, dir, name string, opts ...FolderOption) error {
	if err := ir.CheckOptions("to folder", opts); err != nil {
		return err
	}
	if m == nil {
		return ir.Errorf(ir.ErrInput, "to folder: expected a graph module, got nil")
	}
	var c folderConfig
	for _, o := range opts {
		o(&c)
	}
	w := &folderWriter{dir: filepath.ToSlash(dir), cfg: c, names: map[string]bool{name: true}}
	if !isPythonName(name) {
		w.faults.add(ir.ErrValue, "to folder: expected a name for the class, got %s", name)
	}
	if strings.ContainsAny(w.dir, "'\n\r") {
		w.faults.add(ir.ErrValue, "to folder: expected a path without quotes and line breaks, got %s", w.dir)
	}
	root := w.tree(m, "")
	facts := w.class(root, "", name)
	if err := w.faults.join(); err != nil {
		return err
	}
	facts.Classes = w.facts
	extra, err := json.MarshalIndent(facts, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	write := func(name string, content func(io.Writer) error) {
		if err == nil {
			err = wholefile.Write(filepath.Join(dir, name), content)
		}
	}
	text := func(s string) func(io.Writer) error {
		return func(out io.Writer) error { _, err := io.WriteString(out, s); return err }
	}
	write(folderState, func(out io.Writer) error { return WriteState(out, root.State()) })
	write(folderExtra, text(string(extra)+"\n"))
	write(folderModule, text(w.text()))
	write(folderInit, text("from .module import *"))
	return err
}

var pythonName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

func isPythonName(s string) bool { return pythonName.MatchString(s) }

type folderWriter struct {
	dir     string
	cfg     folderConfig
	names   map[string]bool // of the classes
	facts   map[string]folderFacts
	imports []string // that torch.fx does not write
	classes []string // texts of the finished ones
	lines   []string // of the __init__ that is being written
	faults  faults
}

// class writes the class of a graph module, after those of its children, and
// returns what its code does not say. path is where it stands in the main one, "".
func (w *folderWriter) class(m *SavedModule, path, name string) folderFacts {
	outer := w.lines
	defer func() { w.lines = outer }()
	w.lines = nil
	code, err := m.graph.PythonCode("self")
	if err != nil {
		w.faults.err(err)
		return folderFacts{}
	}
	facts, err := factsOf(m.graph, code)
	if err != nil {
		w.faults.err(err)
	}
	w.children(m, path)
	source := code.Source
	if w.cfg.complete {
		source = w.complete(code, facts)
	}
	if path == "" {
		w.add("self.load_state_dict(torch.load(r'" + w.dir + "/" + folderState + "'))")
	}
	var b strings.Builder
	b.WriteString("class " + name + "(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n")
	for _, line := range w.lines {
		b.WriteString("        " + line + "\n")
	}
	for i, line := range strings.Split(source, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString("    " + line)
		}
	}
	b.WriteByte('\n')
	w.classes = append(w.classes, b.String())
	return facts
}

// childClass writes the class of a child that is a graph module and returns the
// call that makes it.
func (w *folderWriter) childClass(m *SavedModule, path string) string {
	base := notInName.ReplaceAllString(m.Class+"_"+path, "_")
	if !isPythonName(base) {
		base = "GraphModule_" + base
	}
	name := base
	for i := 1; w.names[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	w.names[name] = true
	facts := w.class(m, path, name)
	if w.facts == nil {
		w.facts = map[string]folderFacts{}
	}
	w.facts[name] = facts
	return name + "()"
}

var notInName = regexp.MustCompile(`\W+`)

// children writes the statements that make the modules and tensors of a graph
// module, in the order of torch.fx: children, buffers, parameters; then what lies
// below the children. prefix is its path, for errors.
func (w *folderWriter) children(m *SavedModule, prefix string) {
	var below []func()
	for i, c := range m.Children {
		name := m.Names[i]
		w.checkName(name)
		w.add("setattr(self, '" + name + "', " + w.expression(joinPath(prefix, name), c) + ")")
		below = append(below, func() { w.below(prefix, name, c) })
	}
	for _, t := range m.buffers {
		w.checkName(t.name)
		w.add("self.register_buffer('" + t.name + "', " + emptyText(t.tensor) + ")")
	}
	for _, t := range m.params {
		w.checkName(t.name)
		w.add("setattr(self, '" + t.name + "', torch.nn.Parameter(" + emptyText(t.tensor) + "))")
	}
	for _, f := range below {
		f()
	}
}

// below writes what lies in a container, whose path in the class is given.
func (w *folderWriter) below(prefix, path string, m *SavedModule) {
	if !isContainer(m) {
		return // a layer makes its own, and so does a class
	}
	at := "self.get_submodule('" + path + "')"
	for i, c := range m.Children {
		w.checkName(m.Names[i])
		w.add(at + ".add_module('" + m.Names[i] + "', " + w.expression(joinPath(prefix, path+"."+m.Names[i]), c) + ")")
		w.below(prefix, path+"."+m.Names[i], c)
	}
	for _, t := range m.buffers {
		w.checkName(t.name)
		w.add(at + ".register_buffer('" + t.name + "', " + emptyText(t.tensor) + ")")
	}
	for _, t := range m.params {
		w.checkName(t.name)
		made := "torch.nn.Parameter(" + emptyText(t.tensor) + ")"
		switch m.Class {
		case "ParameterList": // which counts what it holds, as ParameterDict does
			w.add(at + ".append(" + made + ")")
		case "ParameterDict":
			w.add(at + "['" + t.name + "'] = " + made)
		default:
			w.add(at + ".register_parameter('" + t.name + "', " + made + ")")
		}
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
	switch m.Class {
	case "Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict":
		return m.graph == nil
	}
	return false
}

// holdsParameters reports whether a module is a container of tensors, which its
// repr describes.
func holdsParameters(m *SavedModule) bool {
	return m.Class == "ParameterList" || m.Class == "ParameterDict"
}

// unquoted is how torch.nn's repr writes the padding and padding_mode of a
// convolution where they are texts.
var unquoted = regexp.MustCompile(`^[a-z_]+$`)

// trusted are the layers that torch.fx makes of their repr.
var trusted = map[string]bool{
	"Linear": true, "Conv1d": true, "Conv2d": true, "Conv3d": true, "BatchNorm1d": true, "BatchNorm2d": true, "BatchNorm3d": true,
}

// expression is what makes a module.
func (w *folderWriter) expression(path string, m *SavedModule) string {
	if m.graph != nil {
		return w.childClass(m, path)
	}
	eval := ""
	if m.Eval && !trusted[m.Class] { // which torch.fx pickles, and so keeps
		eval = ".eval()"
	}
	if isContainer(m) && (m.line == "" || holdsParameters(m)) {
		if m.Class == "Module" {
			return "torch.nn.Module()" + eval
		}
		return m.Class + "()" + eval
	}
	if m.line != "" || len(m.Children) > 0 && !m.Whole || !torchLayers[m.Class] {
		w.faults.add(ir.ErrUnsupported, "to folder: module %s: expected a layer of torch.nn whose repr makes it, got %s", path, clip(m.Repr()))
		return ""
	}
	c := SavedModule{Class: m.Class, Args: slices.Clone(m.Args)}
	for i, a := range c.Args {
		switch {
		case a.Name != "" && !isPythonName(a.Name):
			w.faults.add(ir.ErrUnsupported, "to folder: module %s: expected literals as arguments, got %s", path, clip(m.Repr()))
		case a.Module != nil:
			c.Args[i].Text = w.expression(joinPath(path, a.Name), a.Module)
		case a.Tensor != nil:
			c.Args[i].Text = emptyText(a.Tensor)
		case (a.Name == "padding_mode" || a.Name == "padding") && unquoted.MatchString(a.Text):
			c.Args[i].Text = "'" + a.Text + "'"
		case a.Value == nil:
			w.faults.add(ir.ErrUnsupported, "to folder: module %s: expected literals as arguments, got %s", path, clip(m.Repr()))
		}
	}
	return c.Repr() + eval
}

// text is the module.py.
func (w *folderWriter) text() string {
	var b strings.Builder
	b.WriteString("\nimport torch\nfrom math import inf\nfrom math import nan\nNoneType = type(None)\nimport torch\n" +
		"from torch import device\nimport torch.fx._pytree as fx_pytree\nimport torch.utils._pytree as pytree\n")
	for _, line := range w.imports {
		b.WriteString(line + "\n")
	}
	b.WriteString("\nfrom torch.nn import *\n")
	for _, class := range w.classes {
		b.WriteString(class)
	}
	return b.String()
}

// complete returns the source of a class without its wrap lines, which join the
// imports at the top of the file; the specs of a pytree join the statements of the
// class.
func (w *folderWriter) complete(code *ir.PythonCode, facts folderFacts) (source string) {
	standard := map[string]bool{}
	plain, err := ir.NewGraph().PythonCode("self")
	if err == nil {
		for _, line := range plain.Imports() {
			standard[line] = true
		}
	}
	atTop := func(line string) {
		if !standard[line] && !slices.Contains(w.imports, line) {
			w.imports = append(w.imports, line)
		}
	}
	for _, line := range code.Imports() {
		atTop(line)
	}
	source = code.Source
	for line := range strings.Lines(code.Source) {
		if strings.HasPrefix(line, "torch.fx._symbolic_trace.wrap(") {
			atTop(strings.TrimSuffix(line, "\n"))
			source = strings.Replace(source, line, "", 1)
		}
	}
	for _, spec := range [][2]string{{"_in_spec", facts.In}, {"_out_spec", facts.Out}} {
		if spec[1] != "" {
			w.add("self." + spec[0] + " = pytree.treespec_loads(" + ir.Repr(ir.Str(spec[1])) + ")")
		}
	}
	return source
}
