package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/gosource"
	"github.com/torchfx-go/torchfx/ir"
)

// graphFormats are the forms that graph prints, in the order of its help.
var graphFormats = []struct {
	name, what string
	print      func(m *ir.GraphModule, opts []ir.CodeOption) (string, error)
}{
	{"readable", "Python with the dtype and shape of every value, subgraphs below", func(m *ir.GraphModule, opts []ir.CodeOption) (string, error) {
		return m.Readable(opts...)
	}},
	{"code", "the Python code of the graph alone", func(m *ir.GraphModule, _ []ir.CodeOption) (string, error) {
		code, err := m.Code()
		return strings.TrimLeft(code, "\n"), err
	}},
	{"graph", "a line a node, as print(graph) in Python", func(m *ir.GraphModule, _ []ir.CodeOption) (string, error) {
		return m.Graph().String(), nil
	}},
	{"tabular", "a table, as graph.print_tabular() in Python", func(m *ir.GraphModule, _ []ir.CodeOption) (string, error) {
		return m.Graph().Tabular(), nil
	}},
	{"json", "for programs: nodes, arguments, what is known of values, subgraphs", func(m *ir.GraphModule, _ []ir.CodeOption) (string, error) {
		text, err := m.JSON()
		return string(text), err
	}},
	{"go", "a Go file: a struct of the attributes with a method Forward", func(m *ir.GraphModule, _ []ir.CodeOption) (string, error) {
		text, err := gosource.Generate(m)
		return string(text), err
	}},
}

func newGraphCommand() *cobra.Command {
	var format, model, output string
	var lifted, stride, device bool
	var libraries *[]string
	formats := make([]string, len(graphFormats))
	var help strings.Builder
	for i, f := range graphFormats {
		formats[i] = f.name
		fmt.Fprintf(&help, "\n  %-9s %s", f.name, f.what)
	}
	cmd := &cobra.Command{
		Use:   "graph FILE",
		Short: "Show the graph of a saved program",
		Long: `Graph prints the graph of a program that torch.export saved, in one of these
forms:
` + help.String() + `

The texts are those of torch.fx, so that they can be compared with what Python
prints of the same program. The graph is the one that runs: weights are read
from the module, as ep.module() has it. With --lifted it is the one in the file,
where every weight is an argument, as ep.graph has it.`,
		Example: `  torchfx graph model.pt2
  torchfx graph model.pt2 --format code > model.py
  torchfx graph model.pt2 --stride --device
  torchfx graph model.pt2 --format go > model/model.go
  cat model.pt2 | torchfx graph - --format json | jq -r '.nodes[].target' | sort | uniq -c`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := withLibraries(*libraries)
			if err != nil {
				return err
			}
			if model != "" {
				opts = append(opts, export.Model(model))
			}
			p, err := openProgram(cmd, args[0], append(opts, export.WithoutWeights()))
			if err != nil {
				return err
			}
			defer p.Close()
			m := p.GraphModule()
			if !lifted {
				if m, err = p.Module(); err != nil {
					return err
				}
			}
			var codeOpts []ir.CodeOption
			if stride {
				codeOpts = append(codeOpts, ir.IncludeStride())
			}
			if device {
				codeOpts = append(codeOpts, ir.IncludeDevice())
			}
			text, err := formatGraph(m, format, codeOpts)
			if err != nil {
				return err
			}
			return writeOutput(cmd, output, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "readable", "form to print: "+strings.Join(formats, ", "))
	cmd.Flags().StringVarP(&output, "output", "o", "-", "file to write, - is standard output")
	cmd.Flags().BoolVar(&lifted, "lifted", false, "show the graph of the file, with weights as arguments")
	cmd.Flags().BoolVar(&stride, "stride", false, "with strides, in the readable form")
	cmd.Flags().BoolVar(&device, "device", false, "with devices, in the readable form")
	cmd.Flags().StringVar(&model, "model", "", "which program of an archive with several")
	libraries = libraryFlag(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		for _, f := range formats {
			if f == format {
				return nil
			}
		}
		return fmt.Errorf("format: expected one of %s, got %q", strings.Join(formats, ", "), format)
	}
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// formatGraph prints m in the form that has this name, ending in one newline.
func formatGraph(m *ir.GraphModule, format string, opts []ir.CodeOption) (string, error) {
	for _, f := range graphFormats {
		if f.name == format {
			text, err := f.print(m, opts)
			return strings.Map(harmless, strings.TrimRight(text, "\n ")) + "\n", err
		}
	}
	return "", fmt.Errorf("format %q: unknown", format)
}

// harmless replaces what a name out of a file could do to a terminal.
func harmless(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return '\uFFFD'
	}
	return r
}
