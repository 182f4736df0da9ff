package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx/export"
)

func newInspectCommand() *cobra.Command {
	var asJSON, all bool
	var model string
	var libraries *[]string
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Say what a file or folder is and what is in it",
		Long: `Inspect finds out by its content what a file is: a program of torch.export, a file
of torch.save, safetensors (one file or the index of a sharded set), .npy, .npz, a
saved fx module, TorchScript, an AOTInductor package. It says who wrote it, and
lists what is in it: signature with shapes and ranges, operators with counts,
tensors with sizes, and what is missing here to run it.

Nothing in a file is executed, and elements are not read; "torchfx check" verifies
them. For a folder that holds several such files, each gets a line.`,
		Example: `  torchfx inspect model.pt2
  torchfx inspect --all checkpoint.pt
  torchfx inspect --json model.safetensors.index.json | jq '.tensors[].name'
  torchfx inspect ~/models`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var opts []export.Option
			if model != "" {
				opts = append(opts, export.Model(model))
			}
			live, err := withLibraries(*libraries)
			if err != nil {
				return err
			}
			r, err := inspect(args[0], append(opts, live...))
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, r)
			}
			r.print(cmd.OutOrStdout(), all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	cmd.Flags().BoolVar(&all, "all", false, "list every tensor, not the first ones")
	cmd.Flags().StringVar(&model, "model", "", "which program of an archive with several")
	libraries = libraryFlag(cmd)
	return cmd
}

// An inspectReport is what inspect says about one file or folder.
type inspectReport struct {
	Path     string            `json:"path"`
	Format   string            `json:"format"`
	Bytes    int64             `json:"bytes,omitempty"` // of the file
	Models   []string          `json:"models,omitempty"`
	Program  *checkReport      `json:"program,omitempty"`
	Writer   string            `json:"writer,omitempty"` // of a program: who wrote it, where that was not PyTorch
	Metadata map[string]string `json:"metadata,omitempty"`
	Tensors  []inspectTensor   `json:"tensors,omitempty"`
	Modules  []string          `json:"modules,omitempty"` // a saved fx module: its lines
	Missing  []string          `json:"missing,omitempty"` // what keeps it from running here
	Note     string            `json:"note,omitempty"`
	Files    []inspectFile     `json:"files,omitempty"` // of a folder
}

type inspectTensor struct {
	Name  string  `json:"name"`
	Kind  string  `json:"kind,omitempty"` // in a program: parameter, buffer, constant_tensor
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Bytes int64   `json:"bytes"` // of its elements
}

type inspectFile struct {
	Name   string `json:"name"`
	Format string `json:"format"`
	Bytes  int64  `json:"bytes,omitempty"`
}

func inspect(path string, opts []export.Option) (*inspectReport, error) {
	format, err := export.Identify(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &inspectReport{Path: path, Format: format.String()}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		r.Bytes = info.Size()
	}
	switch format {
	case export.ProgramFile:
		err = r.program(path, opts)
	case export.TorchSaveFile:
		err = r.saved(path)
	case export.SavedModuleFolder:
		err = r.module(path)
	case export.OtherFolder:
		err = r.folder(path)
	case export.TorchScriptFile:
		r.Note = "deprecated upstream; export the model with torch.export instead"
	case export.AOTInductorFile:
		r.Note = "compiled parts without a graph"
	default:
		err = r.tensorFile(path, format)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// program describes a program. What keeps it from being opened whole is listed as
// missing; signature and weights are told all the same.
func (r *inspectReport) program(path string, opts []export.Option) error {
	var err error
	if r.Models, err = export.Models(path); err != nil {
		return err
	}
	opts = append(opts, export.WithoutWeights(), export.SkipChecksums())
	p, err := export.Open(path, opts...)
	if err != nil {
		r.Missing = strings.Split(err.Error(), "\n")
		if p, err = export.Open(path, append(opts, export.SignatureOnly())...); err != nil {
			return errors.New(strings.Join(r.Missing, "\n"))
		}
	}
	defer p.Close()
	r.Program = &checkReport{File: path, OK: true}
	r.Program.describe(p)
	r.Writer = p.Writer
	kinds := map[string]string{}
	for _, in := range p.Signature.Inputs {
		if in.Target != "" {
			kinds[in.Target] = in.Kind.String()
		}
	}
	for name, t := range p.State() {
		r.add(name, kinds[name], t)
	}
	return nil
}

func (r *inspectReport) add(name, kind string, t *export.Tensor) {
	r.Tensors = append(r.Tensors, inspectTensor{
		Name: name, Kind: kind, DType: t.DType.Name(), Shape: append([]int64{}, t.Sizes...), Bytes: t.Numel() * int64(t.DType.Size()),
	})
}

// saved describes a file of torch.save. Objects of other classes are named.
func (r *inspectReport) saved(path string) error {
	f, err := export.OpenTorchSave(path, export.WithoutWeights(), export.SkipChecksums())
	if err != nil {
		strict := err
		classes := map[string]bool{}
		allow := func(name string) bool { classes[name] = true; return true }
		if f, err = export.OpenTorchSave(path, export.WithoutWeights(), export.SkipChecksums(), export.Classes(allow)); err != nil {
			return strict
		}
		names := make([]string, 0, len(classes))
		for name := range classes {
			names = append(names, name)
		}
		slices.Sort(names)
		r.Note = "holds objects of classes of Python, which are data here: " + strings.Join(names, ", ")
	}
	defer f.Close()
	for name, t := range f.Tensors() {
		r.add(name, "", t)
	}
	return nil
}

// module describes a folder that to_folder saved.
func (r *inspectReport) module(path string) error {
	f, err := export.LoadFolder(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.Modules = strings.Split(f.Module.Repr(), "\n")
	r.Missing = f.Warnings
	for name, v := range f.Module.Attrs() {
		if t, ok := v.(*export.Tensor); ok {
			r.add(name, "", t)
		}
	}
	return nil
}

// folder lists what the files of a folder are; those of no known format are left out.
func (r *inspectReport) folder(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		format, err := export.Identify(filepath.Join(path, e.Name()))
		if err != nil || format == export.OtherFolder {
			continue
		}
		f := inspectFile{Name: e.Name(), Format: format.String()}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			f.Bytes = info.Size()
		}
		r.Files = append(r.Files, f)
	}
	return nil
}

func (r *inspectReport) tensorFile(path string, format export.FileFormat) error {
	if format == export.SafetensorsFile || format == export.SafetensorsIndex {
		f, err := export.OpenSafetensors(path)
		if err != nil {
			return err
		}
		r.Metadata = f.Metadata()
		if err := f.Close(); err != nil {
			return err
		}
	}
	f, err := export.OpenTensors(path)
	if err != nil {
		return err
	}
	for name, t := range f.State() {
		r.add(name, "", t)
	}
	return f.Close()
}

// maxTensors is how many tensors are listed without --all.
const maxTensors = 20

func (r *inspectReport) print(w io.Writer, all bool) {
	fmt.Fprintf(w, "%s: %s", plainText(r.Path), r.Format)
	if r.Bytes > 0 {
		fmt.Fprintf(w, ", %s", bytesText(r.Bytes))
	}
	fmt.Fprintln(w)
	lines := (&checkReport{}).printLines
	if p := r.Program; p != nil {
		producer := "torch " + p.Torch
		if r.Writer != "" {
			producer += ", rewritten by " + r.Writer
		}
		lines(w, "written by", []string{producer + ", schema " + p.Schema})
		if len(r.Models) > 1 {
			lines(w, "programs", r.Models)
		}
		p.printValues(w, "inputs", p.Inputs)
		p.printValues(w, "outputs", p.Outputs)
		p.printLines(w, "dynamic", p.Ranges)
		p.printLines(w, "guards", p.Guards)
		if len(p.Operators) > 0 {
			p.printOperators(w)
		}
		p.printLines(w, "extra", p.Extra)
		p.printLines(w, "warning", p.Warnings)
	}
	if r.Note != "" {
		lines(w, "note", []string{r.Note})
	}
	lines(w, "modules", r.Modules)
	lines(w, "missing", r.Missing)
	for _, f := range r.Files {
		fmt.Fprintf(w, "  %-10s %s: %s\n", bytesText(f.Bytes), plainText(f.Name), f.Format)
	}
	r.printTensors(w, all)
}

func (r *inspectReport) printTensors(w io.Writer, all bool) {
	if len(r.Tensors) == 0 {
		return
	}
	var elements, bytes int64
	for _, t := range r.Tensors {
		n := int64(1)
		for _, s := range t.Shape {
			n *= s
		}
		elements, bytes = elements+n, bytes+t.Bytes
	}
	fmt.Fprintf(w, "  %-10s %d, %d elements, %s\n", "tensors", len(r.Tensors), elements, bytesText(bytes))
	for i, t := range r.Tensors {
		if i == maxTensors && !all {
			fmt.Fprintf(w, "    and %d more, see --all\n", len(r.Tensors)-i)
			return
		}
		kind := t.Kind
		if kind != "" {
			kind = " " + kind
		}
		fmt.Fprintf(w, "    %s: %s%v%s, %s\n", plainText(t.Name), t.DType, t.Shape, kind, bytesText(t.Bytes))
	}
}

// bytesText writes a size as people read it.
func bytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
