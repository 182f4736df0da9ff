package export

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The bounds on what is read of a compiled program.
const (
	maxCompiledSource = 64 << 20 // bytes of C++
	maxCompiledInputs = 1 << 16  // of each of inputs, outputs, constants, kernels
)

// A CompiledProgram is what a package of AOTInductor says of one program in it. The
// program is machine code, which package script runs; what goes in and out is in the C++
// that it was compiled from, where the package has that.
type CompiledProgram struct {
	Name     string
	Metadata map[string]string // device, machine and what the producer put there
	Inputs   []CompiledValue
	Outputs  []CompiledValue
	State    []CompiledTensor // parameters, buffers and constants
	Calls    map[string]int   // operators that run as they are: "aten::mm"
	Kernels  []string         // what the others were fused to: "cpp_fused_mul_relu_0"
	Files    []CompiledFile
}

// A CompiledValue is an input or output of a compiled program.
type CompiledValue struct {
	Name   string
	Type   string   // "f32[s77, 4] cpu" as far as it is known, "" where nothing is
	Bounds []string // of sizes: "2 <= s77 <= 64"
}

// A CompiledTensor is a tensor that was compiled in, or that is to be given.
type CompiledTensor struct {
	Name  string // qualified name in the model
	Kind  string // parameter, buffer, constant
	DType ir.DType
	Sizes []int64
}

// A CompiledFile is a file of a compiled program.
type CompiledFile struct {
	Name  string
	Bytes int64
}

// ReadCompiled reads what a package of AOTInductor, or an archive with compiled
// programs beside exported ones, says of those. Nothing is compiled, loaded or run.
func ReadCompiled(path string, opts ...Option) ([]CompiledProgram, error) {
	var o options
	if err := o.take(opts); err != nil {
		return nil, err
	}
	s, release, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = release() }()
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	a.sums = a.sums && !o.skipSums
	var programs []CompiledProgram
	place := map[string]int{}
	for _, file := range a.below(aotiDir) {
		model, name, ok := strings.Cut(strings.TrimPrefix(file, aotiDir), "/")
		if !ok {
			continue
		}
		i, known := place[model]
		if !known {
			i, place[model] = len(programs), len(programs)
			programs = append(programs, CompiledProgram{Name: model, Metadata: map[string]string{}, Calls: map[string]int{}})
		}
		if err := programs[i].file(a, file, name); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// file notes a file of a program, and reads those that tell something.
func (p *CompiledProgram) file(a *archive, record, name string) error {
	r, err := a.find(record)
	if err != nil {
		return err
	}
	p.Files = append(p.Files, CompiledFile{name, r.size})
	switch {
	case strings.HasSuffix(name, "_metadata.json"):
		text, err := a.text(record, maxIndex)
		if err != nil {
			return err
		}
		v, err := parseJSON(text, false)
		if err != nil {
			return ir.Errorf(ir.ErrFormat, "record %s: %w", record, err)
		}
		var f faults
		d := &decoder{faults: &f, record: record}
		d.table(v, "metadata", func(key string, value jsonValue) { p.Metadata[key] = d.str(value, clip(key)) })
		return f.join()
	case strings.HasSuffix(name, ".wrapper.cpp"):
		text, err := a.text(record, maxCompiledSource)
		if err != nil {
			return err
		}
		p.source(string(text))
	}
	return nil
}

// The lines of the C++ that tell something. Source: CppWrapperCpu in
// torch/_inductor/codegen/cpp_wrapper_cpu.py of 2.15.0.
var (
	compiledInfo   = regexp.MustCompile(`^\s*(inputs|outputs|constants)_info_\[(\d+)\]\.(\w+) = (.*);$`)
	compiledDType  = regexp.MustCompile(`^\s*int32_t (\w+)_expected_dtype = aoti_torch_dtype_(\w+)\(\);$`)
	compiledDevice = regexp.MustCompile(`<< "expected: " << (\w+)_expected_device_type << "\d+\((\w+)\), "$`)
	compiledFixed  = regexp.MustCompile(`^\s*if \((\d+) != (\w+)_size\[(\d+)\]\) \{$`)
	compiledBound  = regexp.MustCompile(`^\s*if \((\w+)_size\[(\d+)\] ([<>]) (\d+)\) \{$`)
	compiledSymbol = regexp.MustCompile(`^\s*int64_t (\w+) = (\w+)_size\[(\d+)\];$`)
	compiledKernel = regexp.MustCompile(`^\s*(?:void\*|CUfunction) (\w+)\{nullptr\};$`)
	compiledAten   = regexp.MustCompile(`Original ATen: \[([^\]]*)\]`)
)

// A compiledInput is what is known of an input while the C++ is read.
type compiledInput struct {
	dtype, device string
	dims          []compiledDim
}

// A compiledDim is a dimension, "" what is not known.
type compiledDim struct{ size, least, most string }

// dim returns a dimension, nil for one that does not follow those before.
func (in *compiledInput) dim(place string) *compiledDim {
	i, err := strconv.Atoi(place)
	if err != nil || i > len(in.dims) || i >= maxDims {
		return nil
	}
	if i == len(in.dims) {
		in.dims = append(in.dims, compiledDim{})
	}
	return &in.dims[i]
}

// source reads the C++, line by line: first come the names, then the checks.
func (p *CompiledProgram) source(text string) {
	inputs := map[string]*compiledInput{}
	dim := func(name, place string) *compiledDim {
		if inputs[name] == nil {
			return nil
		}
		return inputs[name].dim(place)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := compiledInfo.FindStringSubmatch(line); m != nil {
			p.info(m[1], m[2], m[3], m[4])
			if n := len(p.Inputs); m[1] == "inputs" && n > 0 && inputs[p.Inputs[n-1].Name] == nil {
				inputs[p.Inputs[n-1].Name] = &compiledInput{}
			}
		} else if m := compiledDType.FindStringSubmatch(line); m != nil && inputs[m[1]] != nil {
			inputs[m[1]].dtype = m[2]
		} else if m := compiledDevice.FindStringSubmatch(line); m != nil && inputs[m[1]] != nil {
			inputs[m[1]].device = m[2]
		} else if m := compiledFixed.FindStringSubmatch(line); m != nil {
			if d := dim(m[2], m[3]); d != nil {
				d.size = m[1]
			}
		} else if m := compiledBound.FindStringSubmatch(line); m != nil {
			if d := dim(m[1], m[2]); d != nil && m[3] == "<" {
				d.least = m[4]
			} else if d != nil {
				d.most = m[4]
			}
		} else if m := compiledSymbol.FindStringSubmatch(line); m != nil {
			if d := dim(m[2], m[3]); d != nil {
				d.size = m[1]
			}
		} else if m := compiledKernel.FindStringSubmatch(line); m != nil && len(p.Kernels) < maxCompiledInputs {
			p.Kernels = append(p.Kernels, m[1])
		} else if m := compiledAten.FindStringSubmatch(line); m != nil {
			for name := range strings.SplitSeq(m[1], ", ") {
				if op, ok := strings.CutPrefix(name, "aten."); ok {
					p.Calls["aten::"+op]++
				}
			}
		}
	}
	for i := range p.Inputs {
		if in := inputs[p.Inputs[i].Name]; in != nil {
			p.Inputs[i].Type, p.Inputs[i].Bounds = in.text()
		}
	}
}

// text writes what is known of an input.
func (in *compiledInput) text() (what string, bounds []string) {
	sizes := make([]string, len(in.dims))
	for i, d := range in.dims {
		sizes[i] = cmp.Or(d.size, "?")
		bound := sizes[i]
		if d.least != "" {
			bound = d.least + " <= " + bound
		}
		if d.most != "" {
			bound += " <= " + d.most
		}
		if bound != sizes[i] {
			bounds = append(bounds, bound)
		}
	}
	what = "tensor"
	if d, err := ir.ParseDType(in.dtype); err == nil {
		what = d.Short()
	}
	what += "[" + strings.Join(sizes, ", ") + "]"
	if in.device != "" {
		what += " " + in.device
	}
	return what, bounds
}

// info takes an assignment to a field of an input, output or constant.
func (p *CompiledProgram) info(list, place, field, value string) {
	i, err := strconv.Atoi(place)
	if err != nil || i >= maxCompiledInputs {
		return
	}
	text, _ := strconv.Unquote(value)
	switch list {
	case "inputs", "outputs":
		values := &p.Inputs
		if list == "outputs" {
			values = &p.Outputs
		}
		if i == len(*values) && field == "name" { // they come in order
			*values = append(*values, CompiledValue{Name: text})
		}
	case "constants":
		if i == len(p.State) && field == "name" {
			p.State = append(p.State, CompiledTensor{Name: text, Kind: "constant"})
		}
		if i != len(p.State)-1 {
			return
		}
		p.State[i].field(field, value, text)
	}
}

func (t *CompiledTensor) field(field, value, text string) {
	switch field {
	case "original_fqn":
		t.Name = text
	case "dtype": // static_cast<int32_t>(cached_torch_dtype_float32)
		if _, name, ok := strings.Cut(strings.TrimRight(value, ")"), "dtype_"); ok {
			t.DType, _ = ir.ParseDType(name)
		}
	case "shape":
		t.Sizes = []int64{}
		for _, size := range strings.Split(strings.Trim(value, "{}"), ", ") {
			if n, err := strconv.ParseInt(size, 10, 64); err == nil && n >= 0 && len(t.Sizes) < maxDims {
				t.Sizes = append(t.Sizes, n)
			}
		}
	case "type":
		for _, kind := range []string{"Parameter", "Buffer"} {
			if strings.HasSuffix(strings.TrimRight(value, ")"), "::"+kind) {
				t.Kind = strings.ToLower(kind)
			}
		}
	}
}

// Bytes is what the elements take, 0 where that is not known.
func (t CompiledTensor) Bytes() int64 {
	n, ok := elements(t.Sizes)
	if size := int64(t.DType.Size()); t.DType.Valid() && ok && n <= 1<<62/max(size, 1) {
		return n * size
	}
	return 0
}
