package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

func newCheckCommand() *cobra.Command {
	var asJSON, live, noChecksums bool
	var model string
	var libraries *[]string
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Say whether saved programs are whole, and what they are",
		Long: `Check opens programs that torch.export saved and looks at everything in them:
the archive and its checksums, the graph, every operator and its arguments, the
signature, the weights. All that is wrong is reported at once. Nothing in a file
is executed.

Operators are looked up in the built-in catalogue, without libtorch; with --live
in the libtorch that is installed, and with --library in that and a library of
custom operators. A summary of each program goes to standard
output. The exit code is 1 when a file was refused.`,
		Example: `  torchfx check model.pt2
  torchfx check --json *.pt2 | jq '.[] | select(.ok | not)'
  torchfx check --library ./libmyops.so model.pt2
  curl -s https://example.com/model.pt2 | torchfx check -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			var opts []export.Option
			if model != "" {
				opts = append(opts, export.Model(model))
			}
			if noChecksums {
				opts = append(opts, export.SkipChecksums())
			}
			if live || len(*libraries) > 0 {
				operators, err := liveOperators(*libraries)
				if err != nil {
					return err
				}
				opts = append(opts, export.Operators(operators))
			}
			reports := make([]*checkReport, len(files))
			failed := false
			for i, file := range files {
				reports[i] = checkFile(cmd, file, opts)
				failed = failed || !reports[i].OK
				if !asJSON {
					reports[i].print(cmd.OutOrStdout())
				}
			}
			if asJSON {
				if err := printJSON(cmd, reports); err != nil {
					return err
				}
			}
			if failed {
				return errReported
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the reports as a JSON list")
	cmd.Flags().BoolVar(&live, "live", false, "look operators up in the installed libtorch")
	cmd.Flags().BoolVar(&noChecksums, "no-checksums", false, "do not verify the checksums of records")
	cmd.Flags().StringVar(&model, "model", "", "which program of an archive with several")
	libraries = libraryFlag(cmd)
	return cmd
}

// A checkReport is what check says about one file.
type checkReport struct {
	File      string         `json:"file"`
	OK        bool           `json:"ok"`
	Errors    []string       `json:"errors,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
	Program   string         `json:"program,omitempty"`
	Torch     string         `json:"torch,omitempty"`
	Schema    string         `json:"schema,omitempty"`
	Dialects  []string       `json:"dialects,omitempty"`
	Inputs    []checkValue   `json:"inputs,omitempty"`
	Outputs   []checkValue   `json:"outputs,omitempty"`
	Ranges    []string       `json:"ranges,omitempty"`
	Guards    []string       `json:"guards,omitempty"`
	State     *checkState    `json:"state,omitempty"`
	Operators map[string]int `json:"operators,omitempty"` // calls by name
	Extra     []string       `json:"extra_files,omitempty"`
}

// A checkValue is an input or output of the program.
type checkValue struct {
	Name string `json:"name"`
	Type string `json:"type"` // "f32[s77, 3]", "int", "None"
}

// A checkState counts the tensors that the program carries.
type checkState struct {
	Parameters int   `json:"parameters"`
	Buffers    int   `json:"buffers"`
	Constants  int   `json:"constants"`
	Elements   int64 `json:"elements"`
	Bytes      int64 `json:"bytes"` // of storage; shared storage counts once
}

// checkFile opens one file; "-" is standard input.
func checkFile(cmd *cobra.Command, file string, opts []export.Option) *checkReport {
	r := &checkReport{File: file}
	p, err := openProgram(cmd, file, opts)
	if err == nil {
		defer p.Close()
		r.describe(p)
		_, err = p.Module()
	}
	if err != nil {
		r.Errors = strings.Split(err.Error(), "\n")
		return r
	}
	r.OK = true
	return r
}

func openProgram(cmd *cobra.Command, file string, opts []export.Option) (*export.Program, error) {
	if file != "-" {
		return export.Open(file, opts...)
	}
	data, err := io.ReadAll(cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	return export.Read(bytes.NewReader(data), int64(len(data)), opts...)
}

func (r *checkReport) describe(p *export.Program) {
	r.Program, r.Torch, r.Dialects, r.Warnings = p.Name, p.TorchVersion, p.Verifiers, p.Warnings
	r.Schema = fmt.Sprintf("%d.%d", p.SchemaMajor, p.SchemaMinor)
	r.Guards = p.GuardsCode
	for _, rg := range p.Ranges {
		r.Ranges = append(r.Ranges, rg.String())
	}
	values := map[string]any{}
	for n := range p.Graph.Nodes() {
		values[n.Name()] = n.Meta().Get(ir.MetaVal)
	}
	names := p.Guards.Names()
	for i, in := range p.Signature.UserInputs() {
		v := checkValue{Name: names[i], Type: typeText(values[in.Name])}
		if in.Constant != nil {
			v.Type = ir.Repr(in.Constant)
		}
		r.Inputs = append(r.Inputs, v)
	}
	results := p.OutputValues()
	for i, out := range p.Signature.Outputs {
		if out.Kind != export.UserOutput && out.Kind != export.LossOutput {
			continue
		}
		v := checkValue{Name: out.Name, Type: typeText(results[i])}
		if out.Constant != nil {
			v.Type = ir.Repr(out.Constant)
		}
		r.Outputs = append(r.Outputs, v)
	}
	r.State = stateOf(p)
	r.Operators = map[string]int{}
	countCalls(p.GraphModule(), r.Operators)
	r.Extra = slices.Sorted(maps.Keys(p.Extra))
}

// stateOf counts the tensors that the signature names.
func stateOf(p *export.Program) *checkState {
	s := &checkState{}
	storages := map[*export.Storage]bool{}
	for _, in := range p.Signature.Inputs {
		switch in.Kind {
		case export.ParameterInput:
			s.Parameters++
		case export.BufferInput:
			s.Buffers++
		case export.ConstantTensorInput:
			s.Constants++
		}
		if t := p.Tensor(in.Target); t != nil {
			s.Elements += t.Numel()
			if t.Storage != nil && !storages[t.Storage] {
				storages[t.Storage] = true
				s.Bytes += int64(t.Storage.Len())
			}
		}
	}
	return s
}

// countCalls counts what a graph and its subgraphs call, by name.
func countCalls(m *ir.GraphModule, calls map[string]int) {
	for n := range m.Graph().Nodes() {
		if f := n.Func(); f != nil {
			name := f.Name()
			if f.Kind() == ir.Overload {
				name = f.Op()
			}
			calls[name]++
		}
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			countCalls(sub, calls)
		}
	}
}

// typeText writes what is known of a value: "f32[s77, 3]", "int s0", "None".
func typeText(v any) string {
	switch v := v.(type) {
	case ir.TensorMeta:
		dims := make([]string, len(v.Sizes))
		for i, s := range v.Sizes {
			if n, known := s.Known(); known {
				dims[i] = fmt.Sprint(n)
			} else {
				dims[i] = s.Expr().String()
			}
		}
		text := v.DType.Short() + "[" + strings.Join(dims, ", ") + "]"
		if v.Device != (ir.Device{}) {
			text += " " + v.Device.String()
		}
		return text
	case ir.SymScalar:
		kind := map[ir.TypeKind]string{ir.TypeSymInt: "int", ir.TypeSymFloat: "float", ir.TypeSymBool: "bool"}[v.Kind]
		if v.Expr != nil {
			return kind + " " + v.Expr.String()
		}
		return kind
	case export.ObjectMeta:
		return v.Class
	case ir.Arg:
		return ir.Repr(v)
	}
	return "value"
}

// maxListed bounds how many operators the summary names.
const maxListed = 12

func (r *checkReport) print(w io.Writer) {
	if !r.OK {
		fmt.Fprintf(w, "%s: refused\n", r.File)
		for _, e := range r.Errors {
			fmt.Fprintf(w, "  error      %s\n", e)
		}
	} else {
		fmt.Fprintf(w, "%s: ok\n  program    %q of torch %s, schema %s, %s\n", r.File, r.Program, cmp.Or(r.Torch, "unknown"), r.Schema,
			cmp.Or(strings.Join(r.Dialects, ", "), "ATEN"))
		r.printValues(w, "inputs", r.Inputs)
		r.printValues(w, "outputs", r.Outputs)
		r.printLines(w, "dynamic", r.Ranges)
		r.printLines(w, "guards", r.Guards)
		s := r.State
		fmt.Fprintf(w, "  weights    %d parameters, %d buffers, %d constants: %d elements, %d bytes\n", s.Parameters, s.Buffers, s.Constants, s.Elements, s.Bytes)
		r.printOperators(w)
		r.printLines(w, "extra", r.Extra)
	}
	r.printLines(w, "warning", r.Warnings)
}

func (r *checkReport) printValues(w io.Writer, title string, values []checkValue) {
	lines := make([]string, len(values))
	for i, v := range values {
		if lines[i] = v.Name + ": " + v.Type; v.Name == "" {
			lines[i] = v.Type
		}
	}
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	r.printLines(w, title, lines)
}

// maxLines and maxLine bound what the summary prints of one kind, since a file
// may hold any number of guards of any length; --json has them all.
const (
	maxLines = 100
	maxLine  = 500 // characters
)

func (r *checkReport) printLines(w io.Writer, title string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			title = ""
		}
		if i == maxLines {
			fmt.Fprintf(w, "  %-10s and %d more, see --json\n", title, len(lines)-maxLines)
			return
		}
		if text := []rune(line); len(text) > maxLine {
			line = string(text[:maxLine]) + "…"
		}
		fmt.Fprintf(w, "  %-10s %s\n", title, plainText(line))
	}
}

// plainText replaces what a name out of a file could do to a terminal.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// printOperators names the operators that are called most.
func (r *checkReport) printOperators(w io.Writer) {
	names, total := slices.Collect(maps.Keys(r.Operators)), 0
	for _, n := range r.Operators {
		total += n
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Operators[b], r.Operators[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(len(names), maxListed)] {
		parts = append(parts, fmt.Sprintf("%s ×%d", plainText(name), r.Operators[name]))
	}
	if len(names) > maxListed {
		parts = append(parts, fmt.Sprintf("and %d more", len(names)-maxListed))
	}
	fmt.Fprintf(w, "  operators  %d, called %s: %s\n", len(names), times(total), strings.Join(parts, ", "))
}

// times says how often something is done.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
