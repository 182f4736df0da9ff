package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// runFlags is what the command line of run says.
type runFlags struct {
	inputs  []string
	scalars string
	set     []string
	outputs string
	device  string
	threads int
	model   string
	loose   bool
	list    bool
	shown   bool // how far the run is
	freeze  bool
	choices string // file of measured choices, "" for none
	libs    *[]string
}

func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL",
		Short: "Run a saved program on inputs from files",
		Long: `run loads a .pt2 program, calls it once and writes what it returns.

Inputs are the leaves of the program's arguments, in order: a dict or a list
counts as the values in it. Each has two names, its place (i0, i1, ...) and what
the program's forward calls it (x, d['mask'], xs[1]); --list shows both. An input
file is a .safetensors, .npz or .npy file, found out by its content; the names in
it are either of these. A .npy file holds one tensor, so its name stands before
the file: x=image.npy; alone it is i0. Numbers, strings, booleans and null come
from a JSON object (--scalars) or from --set; an input that was a constant when
the program was exported need not be given.

Results are named o0, o1, ... in the order of the leaves of what the program
returns. Tensors go to the output file, in the format that its name ends in
(.safetensors, .npz, .npy for a single one); everything else is printed, as a
line "o1 = 7".

--progress shows on standard error how many nodes of a long graph have run: a bar
on a terminal, a line for each tenth elsewhere, nothing with --quiet.

--freeze rewrites the program for inference before the run, as a service would, and
tells on standard error what was rewritten where and how far results may be off;
layers, and regions for oneDNN, are measured, which takes longer than a run: for
each the line says the time of what was taken and of what it was measured against.
With --choices FILE what is known of this machine is taken from the file, and what
is measured is written there before the run: a second start measures nothing. The
file is made where it is not there. One of another machine or another libtorch is
replaced; what holds something else, or is of a later release, is left as it is, and
the command fails.

"-" is standard input, for the program or for one file, or standard output in the
safetensors format.`,
		Example: `  torchfx run --list model.pt2
  torchfx run model.pt2 --inputs batch.safetensors --outputs scores.safetensors
  torchfx run model.pt2 --inputs image=cat.npy --set temperature=0.5 --outputs scores.npy
  torchfx run --freeze --choices choices.json model.pt2 --inputs batch.safetensors
  torchfx run --library ./libmyops.so model.pt2 -i batch.safetensors -o scores.safetensors
  cat batch.safetensors | torchfx run model.pt2 --inputs - --outputs - --device cuda:0 > scores.safetensors`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.threads < 1 {
				return usagef("--threads: expected a number of at least 1, got %d", f.threads)
			}
			if cmd.Flags().Changed("choices") {
				switch {
				case !f.freeze:
					return usagef("--choices: expected --freeze beside it")
				case f.choices == "" || f.choices == "-":
					return usagef("--choices: expected the name of a file, got %q", f.choices)
				}
			}
			if f.outputs != "" {
				if _, err := resultFormat(f.outputs); err != nil {
					return err
				}
			}
			if err := f.oneStandardInput(args[0]); err != nil {
				return err
			}
			return runModel(cmd, args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.inputs, "inputs", "i", nil, "read inputs from `[NAME=]FILE`; may be repeated")
	flags.StringVar(&f.scalars, "scalars", "", "read inputs that are no tensors from a JSON object in `FILE`")
	flags.StringArrayVar(&f.set, "set", nil, "set an input that is no tensor, `NAME=VALUE`, VALUE in JSON; may be repeated")
	flags.StringVarP(&f.outputs, "outputs", "o", "", "write tensors of the result to `FILE`")
	flags.StringVar(&f.device, "device", "", "run on `DEVICE`, cpu or cuda:0; default: where the program was exported, state on the CPU")
	flags.IntVar(&f.threads, "threads", 1, "threads of one kernel")
	flags.StringVar(&f.model, "model", "", "the `NAME` of the program in an archive of several")
	flags.BoolVar(&f.loose, "no-guards", false, "let inputs of other shapes and dtypes than exported through")
	flags.BoolVar(&f.list, "list", false, "show the inputs and outputs and run nothing")
	flags.BoolVar(&f.shown, "progress", false, "show how many nodes of the graph have run")
	flags.BoolVar(&f.freeze, "freeze", false, "rewrite the program for inference first and tell what was rewritten")
	flags.StringVar(&f.choices, "choices", "", "with --freeze, take measured choices from `FILE` and write there what is measured")
	f.libs = libraryFlag(cmd)
	return cmd
}

// oneStandardInput refuses a command line that reads standard input for two things.
func (f *runFlags) oneStandardInput(model string) error {
	readers := 0
	for _, file := range append([]string{model, f.scalars}, f.inputs...) {
		if file == "-" || strings.HasSuffix(file, "=-") {
			readers++
		}
	}
	if readers > 1 {
		return usagef("standard input: expected one of the program, --inputs and --scalars to be -, got %d", readers)
	}
	return nil
}

func runModel(cmd *cobra.Command, path string, f runFlags) (err error) {
	opts := []torchfx.LoadOption{torchfx.WithThreads(f.threads)}
	if f.model != "" {
		opts = append(opts, torchfx.Model(f.model))
	}
	if f.loose {
		opts = append(opts, torchfx.WithoutGuards())
	}
	progress := func() {}
	if f.shown {
		var report func(done, total int)
		report, progress = showNodes(cmd)
		opts = append(opts, torchfx.OnProgress(report))
	}
	for _, lib := range *f.libs {
		opts = append(opts, torchfx.WithLibrary(lib))
	}
	var device *ir.Device
	if f.device != "" {
		d, err := ir.ParseDevice(f.device)
		if err != nil {
			return usagef("--device: %v", err)
		}
		device = &d
		opts = append(opts, torchfx.OnDevice(d))
	}
	path, remove, err := seekable(cmd, path)
	if err != nil {
		return err
	}
	p, err := torchfx.Load(path, opts...)
	remove() // an open file stays readable
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if quiet, _ := cmd.Flags().GetBool("quiet"); !quiet {
		for _, w := range p.Warnings() {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
		}
	}
	s := newSignature(p)
	if f.list {
		return s.write(cmd.OutOrStdout())
	}
	given, err := readInputs(cmd, s, f)
	if err != nil {
		return err
	}
	defer closeTensors(given)
	leaves, err := s.leaves(given, device)
	if err != nil {
		return err
	}
	defer closeTensors(leaves)
	if f.freeze {
		report, err := p.Freeze(cmd.Context(), passes.FreezeThreads(f.threads), passes.KeepChoices(f.choices))
		if err != nil {
			return err
		}
		if quiet, _ := cmd.Flags().GetBool("quiet"); !quiet {
			fmt.Fprint(cmd.ErrOrStderr(), report)
		}
	}
	results, err := p.RunFlat(cmd.Context(), leaves)
	progress()
	if err != nil {
		return err
	}
	defer closeTensors(results)
	return writeResults(cmd, f.outputs, results)
}

// closeTensors closes the tensors among values.
func closeTensors(values []any) {
	for _, v := range values {
		if t, ok := v.(*torch.Tensor); ok {
			_ = t.Close()
		}
	}
}

// A signature is the flat inputs and outputs of a program.
type signature struct {
	inputs  []leaf
	outputs []string // what each is
}

// A leaf is one flat input.
type leaf struct {
	place string // "i0"
	name  string // as forward has it
	what  string // "f32[s77, 4] cpu", "int"
	fixed bool   // it has a value of its own
	value any    // that value
	plain bool   // it is no tensor
}

func newSignature(p *torchfx.Program) *signature {
	file, graph := p.Exported(), p.Module().Graph()
	names := file.InSpec.CallNames(file.ArgNames)
	s := &signature{}
	for i, n := range graph.Find(ir.Placeholder, nil) {
		l := leaf{place: fmt.Sprintf("i%d", i), name: n.Target().String()}
		if i < len(names) {
			l.name = names[i]
		}
		l.describe(n.Meta().Get(ir.MetaVal))
		s.inputs = append(s.inputs, l)
	}
	if out, err := graph.OutputNode(); err == nil {
		items, ok := out.Arg(0).(ir.Tuple)
		if !ok {
			items = ir.TupleOf(out.Arg(0))
		}
		for _, a := range items.All() {
			v := any(a)
			if n, ok := a.(*ir.Node); ok {
				v = n.Meta().Get(ir.MetaVal)
			}
			var l leaf
			l.describe(v)
			s.outputs = append(s.outputs, l.what)
		}
	}
	return s
}

// describe fills in what is known of a value.
func (l *leaf) describe(val any) {
	switch v := val.(type) {
	case ir.TensorMeta:
		sizes := make([]string, len(v.Sizes))
		for i, s := range v.Sizes {
			sizes[i] = fmt.Sprint(s.Hint())
			if e := s.Expr(); e != nil {
				sizes[i] = e.String()
			}
		}
		l.what = fmt.Sprintf("%s[%s] %s", v.DType.Short(), strings.Join(sizes, ", "), v.Device)
	case ir.SymScalar:
		l.plain, l.what = true, map[ir.TypeKind]string{ir.TypeSymInt: "int", ir.TypeSymFloat: "float", ir.TypeSymBool: "bool"}[v.Kind]
	case ir.None:
		l.constant(nil)
	case ir.Int:
		l.constant(int64(v))
	case ir.Float:
		l.constant(float64(v))
	case ir.Bool:
		l.constant(bool(v))
	case ir.Str:
		l.constant(string(v))
	default:
		l.what = "?"
	}
}

func (l *leaf) constant(v any) {
	l.plain, l.fixed, l.value, l.what = true, true, v, "constant "+torch.Describe(v)
}

// find returns the place of the input with either name, -1 where there is none.
func (s *signature) find(name string) int {
	for i, l := range s.inputs {
		if name == l.place {
			return i
		}
	}
	for i, l := range s.inputs {
		if name == l.name {
			return i
		}
	}
	return -1
}

// names lists the inputs for messages.
func (s *signature) names() string {
	texts := make([]string, len(s.inputs))
	for i, l := range s.inputs {
		texts[i] = l.place + " (" + l.name + ")"
	}
	if len(texts) == 0 {
		return "none: the program has no inputs"
	}
	return strings.Join(texts, ", ")
}

func (s *signature) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range s.inputs {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.place, l.name, l.what)
	}
	for i, what := range s.outputs {
		fmt.Fprintf(t, "o%d\t\t%s\n", i, what)
	}
	return t.Flush()
}

// leaves returns one value for each input, its own to close. given has one value
// for each input, [unset] where the files and flags have none.
func (s *signature) leaves(given []any, device *ir.Device) (leaves []any, err error) {
	defer func() {
		if err != nil {
			closeTensors(leaves)
			leaves = nil
		}
	}()
	var faults []error
	for i, l := range s.inputs {
		v := given[i]
		if v == any(unset{}) {
			v = l.value
			if !l.fixed {
				faults = append(faults, fmt.Errorf("input %s (%s): expected %s, got nothing", l.place, l.name, l.what))
			}
		}
		if t, ok := v.(*torch.Tensor); ok {
			if v, err = l.tensor(t, device); err != nil {
				return leaves, fmt.Errorf("input %s (%s): %w", l.place, l.name, err)
			}
		}
		leaves = append(leaves, v)
	}
	return leaves, errors.Join(faults...)
}

// tensor returns t on the device, or its one element where a number is expected.
func (l *leaf) tensor(t *torch.Tensor, device *ir.Device) (any, error) {
	if l.plain && len(t.Shape()) == 0 {
		return t.Item()
	}
	if device == nil {
		return t.Ref()
	}
	return torch.Call("aten::_to_copy", t, torch.Kw("device", *device))
}

// unset is the place of an input that nobody gave.
type unset struct{}
