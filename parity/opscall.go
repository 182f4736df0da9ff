package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A recordedCall is one line, in the format that the README beside the files
// describes.
type recordedCall struct {
	Fn      string
	FX      string
	Args    []any
	Kwargs  keywords
	Tensors []callTensor
	Inputs  int
	Out     any
	Changed map[string]int
	Random  bool
	ATen    *[]string // nil where it could not be traced

	Error   string
	Message string
	Regex   string
}

// A keyword is a keyword argument; the order counts.
type keyword struct {
	name  string
	value any
}

type keywords []keyword

// UnmarshalJSON reads an object in its order.
func (k *keywords) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		s, _ := name.(string)
		*k = append(*k, keyword{s, v})
	}
	return nil
}

// replayCall makes one recorded call, and one more by the name that torch.fx
// prints where that is another. It returns what is wrong, "" for nothing.
func replayCall(data map[string][]byte, text []byte) string {
	var c recordedCall
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&c); err != nil {
		return err.Error()
	}
	wrong := c.replay(data, c.Fn)
	if wrong == "" && c.FX != "" && c.FX != c.Fn {
		if wrong = c.replay(data, c.FX); wrong != "" {
			wrong = "as " + c.FX + ": " + wrong
		}
	}
	return wrong
}

// replay makes the call under one of the names of the function.
func (c *recordedCall) replay(data map[string][]byte, name string) string {
	scope := torch.NewScope()
	defer scope.Close()
	given := &callValues{call: c, data: data, scope: scope}
	args, kw, err := given.arguments()
	if err != nil {
		return "arguments: " + err.Error()
	}
	fn := ir.FuncOf(name)
	if strings.Contains(name, "::") {
		fn = ir.OverloadOf(name)
	}
	var called []string
	mode := &libtorch.Mode{Observe: func(o *libtorch.Operator) { called = append(called, o.Schema().Op) }}
	got, err := torch.Invoke(mode, fn, append(args, torch.In(scope)), kw)
	if c.Error != "" {
		closeResults(got)
		return c.refused(err)
	}
	if err != nil {
		return err.Error()
	}
	given.keep(got)
	if c.ATen != nil && !slices.Equal(called, *c.ATen) {
		return fmt.Sprintf("expected the overloads %s, called %s", list(*c.ATen), list(called))
	}
	want := &callValues{call: c, data: data, scope: scope}
	if wrong := compareValue(given, want, got, c.Out); wrong != "" {
		return "result: " + wrong
	}
	for _, key := range slices.Sorted(maps.Keys(c.Changed)) {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(c.Tensors) {
			return fmt.Sprintf("changed: expected the index of an argument, got %q", key)
		}
		t, err := given.tensor(i)
		if err != nil {
			return err.Error()
		}
		if wrong := compareTensor(given, want, t, c.Changed[key]); wrong != "" {
			return fmt.Sprintf("argument %d: %s", i, wrong)
		}
	}
	return c.unchanged(given, want)
}

// unchanged compares the arguments that were not recorded to change.
func (c *recordedCall) unchanged(given, want *callValues) string {
	for i, t := range given.made {
		if _, changed := c.Changed[strconv.Itoa(i)]; changed || i >= c.Inputs || c.touched(i) {
			continue
		}
		fresh, err := want.tensor(i)
		if err != nil {
			return err.Error()
		}
		if wrong := compareElements(t, fresh, Tolerance{}); wrong != "" {
			return fmt.Sprintf("argument %d: expected no change, got another: %s", i, wrong)
		}
	}
	return ""
}

// touched reports whether argument i lies on memory of one that changed, or was
// only seen in its parts.
func (c *recordedCall) touched(i int) bool {
	if c.Random || c.Tensors[i].Layout != "" {
		return true
	}
	if c.Tensors[i].Share == nil {
		return false
	}
	for key := range c.Changed {
		j, err := strconv.Atoi(key)
		if err != nil || j >= len(c.Tensors) {
			continue
		}
		if s := c.Tensors[j].Share; s != nil && *s == *c.Tensors[i].Share {
			return true
		}
	}
	return false
}

func list(ops []string) string {
	if len(ops) == 0 {
		return "none"
	}
	return strings.Join(ops, ", ")
}

// closeResults closes the tensors of what should have been an error.
func closeResults(v any) {
	switch v := v.(type) {
	case *torch.Tensor:
		_ = v.Close()
	case []any:
		for _, item := range v {
			closeResults(item)
		}
	case ir.PyTuple:
		for _, item := range v {
			closeResults(item)
		}
	}
}
