// Package compare runs generated Go code beside the graph that it came from. The
// programs that the tests of gosource build import it.
package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// New is the constructor of a generated struct.
type New func(attr func(path string) (any, bool)) (any, error)

// Main compares generated code with recorded programs, by the folders that they
// are in, and with models of this package, by name. It prints what differs and
// ends the process with 1 then.
func Main(programs, models map[string]New) {
	failed := false
	report := func(name string, err error) {
		if err != nil {
			failed = true
			fmt.Printf("%s: %v\n", name, err)
		}
	}
	for dir, construct := range programs {
		report(filepath.Base(dir), program(dir, construct))
	}
	for name, construct := range models {
		report(name, model(name, construct))
	}
	if failed {
		os.Exit(1)
	}
}

// program runs every input set of a recorded program by its graph and by the
// generated code, on fresh state each, and compares results, inputs and state.
func program(dir string, construct New) error {
	meta, err := readMeta(dir)
	if err != nil {
		return err
	}
	for i, set := range meta.Sets {
		byGraph, err := once(dir, set, func(p *torchfx.Program, args []any) (any, error) { return p.RunFlat(context.Background(), args) })
		if err != nil {
			return fmt.Errorf("set %d, the graph: %w", i, err)
		}
		byCode, err := once(dir, set, func(p *torchfx.Program, args []any) (any, error) {
			m, err := construct(p.Module().Attr)
			if err != nil {
				return nil, err
			}
			return forward(m, args)
		})
		if err != nil {
			return fmt.Errorf("set %d, the code: %w", i, err)
		}
		if err := same(byGraph, byCode); err != nil {
			return fmt.Errorf("set %d: %w", i, err)
		}
	}
	return nil
}

// once loads the program, runs it, and returns its results, then its inputs,
// then its state.
func once(dir string, set inputSet, run func(p *torchfx.Program, args []any) (any, error)) ([]any, error) {
	p, err := torchfx.Load(filepath.Join(dir, "model.pt2"))
	if err != nil {
		return nil, err
	}
	args, err := set.values(dir)
	if err != nil {
		return nil, err
	}
	if err := torch.ManualSeed(0); err != nil {
		return nil, err
	}
	out, err := run(p, args)
	if err != nil {
		return nil, err
	}
	all := append(leaves(out), args...)
	for _, t := range p.State() {
		all = append(all, t)
	}
	return all, nil // the process ends soon: nothing is closed
}

// model compares a traced Go model with its code.
func model(name string, construct New) error {
	gm, args, err := Model(name)
	if err != nil {
		return err
	}
	byGraph, err := interpreter.New(gm).Run(context.Background(), args...)
	if err != nil {
		return err
	}
	m, err := construct(gm.Attr)
	if err != nil {
		return err
	}
	byCode, err := forward(m, args)
	if err != nil {
		return err
	}
	return same(leaves(byGraph), leaves(byCode))
}

// forward calls Forward of m with values for its parameters.
func forward(m any, args []any) (any, error) {
	f := reflect.ValueOf(m).MethodByName("Forward")
	return torch.Try(func() any {
		in := make([]reflect.Value, len(args))
		for i, v := range args {
			t := f.Type().In(min(i, f.Type().NumIn()-1))
			if f.Type().IsVariadic() && i >= f.Type().NumIn()-1 {
				t = t.Elem()
			}
			if in[i] = reflect.Zero(t); v != nil {
				in[i] = torch.Convert(v, t)
			}
		}
		return f.Call(in)[0].Interface()
	})
}

func leaves(v any) []any {
	var out []any
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, leaves(item)...)
		}
	case ir.PyTuple:
		return leaves([]any(v))
	case *ir.PyDict:
		for _, item := range v.All() {
			out = append(out, leaves(item)...)
		}
	case *ir.PyObject:
		return leaves(v.Values)
	default:
		out = []any{v}
	}
	return out
}

// same compares bit by bit.
func same(want, got []any) error {
	if len(want) != len(got) {
		return fmt.Errorf("expected %d values, got %d", len(want), len(got))
	}
	for i := range want {
		a, isTensor := want[i].(*torch.Tensor)
		b, isTensorToo := got[i].(*torch.Tensor)
		if !isTensor || !isTensorToo {
			if !reflect.DeepEqual(want[i], got[i]) {
				return fmt.Errorf("value %d: expected %v, got %v", i, want[i], got[i])
			}
			continue
		}
		if a.DType() != b.DType() || !reflect.DeepEqual(a.Shape(), b.Shape()) || !reflect.DeepEqual(a.Strides(), b.Strides()) {
			return fmt.Errorf("value %d: expected %s %v %v, got %s %v %v", i, a.DType(), a.Shape(), a.Strides(), b.DType(), b.Shape(), b.Strides())
		}
		bitsA, errA := a.Bytes()
		bitsB, errB := b.Bytes()
		if errA != nil || errB != nil {
			return fmt.Errorf("value %d: %w, %w", i, errA, errB)
		}
		if !bytes.Equal(bitsA, bitsB) {
			return fmt.Errorf("value %d: expected %v, got %v", i, a, b)
		}
	}
	return nil
}

// The part of a case's meta.json that says what goes in.
type (
	meta struct {
		Sets []inputSet `json:"sets"`
	}
	inputSet struct {
		Inputs []leaf `json:"inputs"`
		Files  struct {
			Inputs string `json:"inputs"`
		} `json:"files"`
	}
	leaf struct {
		Kind    string          `json:"kind"`
		Key     string          `json:"key"`
		DType   string          `json:"dtype"`
		Shape   []int           `json:"shape"`
		Strides []int           `json:"strides"`
		Value   json.RawMessage `json:"value"`
	}
)

func readMeta(dir string) (m meta, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(data, &m)
}

func (s inputSet) values(dir string) ([]any, error) {
	file, err := export.OpenSafetensors(filepath.Join(dir, s.Files.Inputs))
	if err != nil {
		return nil, err
	}
	values := make([]any, len(s.Inputs))
	for i, l := range s.Inputs {
		switch l.Kind {
		case "tensor":
			dt, err := ir.ParseDType(l.DType)
			if err != nil {
				return nil, err
			}
			t, err := file.Tensor(l.Key)
			if err != nil {
				return nil, err
			}
			if values[i], err = torch.FromBytes(dt, l.Shape, t.Storage.Bytes()[t.Offset*int64(dt.Size()):][:numel(l.Shape)*dt.Size()]); err != nil {
				return nil, err
			}
		case "int":
			var n int64
			err = json.Unmarshal(l.Value, &n)
			values[i] = n
		default:
			err = json.Unmarshal(l.Value, &values[i])
		}
		if err != nil && l.Kind != "none" {
			return nil, err
		}
	}
	return values, nil
}

func numel(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
