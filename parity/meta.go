package parity

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// maxMeta bounds a meta.json in bytes; recorded ones are below 200 kB.
const maxMeta = 16 << 20

// caseMeta is the meta.json of both kinds of cases.
type caseMeta struct {
	Case    string     `json:"case"`
	Torch   string     `json:"torch"`
	Note    string     `json:"note"`
	Rel     *float64   `json:"rtol"`
	Abs     *float64   `json:"atol"`
	Compare string     `json:"compare"` // allclose, meta, bits
	Sets    []inputSet `json:"sets"`
	Reject  []reject   `json:"reject"`

	File string `json:"file"` // of a pt2-bad case
	Must string `json:"must"` // fail-load, fail-run, load
	Says string `json:"says"`
}

type inputSet struct {
	Inputs        []leaf   `json:"inputs"`
	Outputs       []leaf   `json:"outputs"`
	ChangedState  []string `json:"changed_state"`
	ChangedInputs []int    `json:"changed_inputs"`
	Seed          *uint64  `json:"seed"`
	Files         struct {
		Inputs   string `json:"inputs"`
		Expected string `json:"expected"`
		Nodes    string `json:"nodes"` // values of the nodes, where they were recorded
	} `json:"files"`
}

type reject struct {
	Inputs []leaf `json:"inputs"`
	Why    string `json:"why"`
	File   string `json:"file"`
}

// A leaf describes one flat value of an input or output.
type leaf struct {
	Kind    string          `json:"kind"` // tensor, int, float, bool, str, none
	Key     string          `json:"key"`  // of the tensor in the safetensors file
	DType   string          `json:"dtype"`
	Shape   []int           `json:"shape"`
	Strides []int           `json:"strides"` // where not contiguous
	Value   json.RawMessage `json:"value"`
}

// readMeta reads the meta.json of the case in dir.
func readMeta(dir string) (*caseMeta, error) {
	name := filepath.Join(dir, "meta.json")
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxMeta {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected at most %d bytes, got %d", name, maxMeta, info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var m caseMeta
	if err := json.Unmarshal(quoteNonFinite(data), &m); err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected the meta data of a recorded case: %w", name, err)
	}
	return &m, nil
}

// nonFiniteToken is what Python writes for a float that JSON has no number for,
// or a string, which is skipped as a whole.
var nonFiniteToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// quoteNonFinite makes JSON of what Python's json.dump wrote.
func quoteNonFinite(data []byte) []byte {
	return nonFiniteToken.ReplaceAllFunc(data, func(token []byte) []byte {
		if token[0] == '"' {
			return token
		}
		return []byte(`"` + string(token) + `"`)
	})
}

// tolerance returns how values of dt are compared in the case.
func (m *caseMeta) tolerance(dt ir.DType) Tolerance {
	tol := DefaultTolerance(dt)
	tol.Bits = m.Compare == "bits"
	if m.Rel != nil && m.Abs != nil {
		tol.Rel, tol.Abs = *m.Rel, *m.Abs
	}
	return tol
}

// scalar returns the value of a leaf that is no tensor, in the types of package
// torchops.
func (l leaf) scalar() (any, error) {
	fail := func(err error) error {
		return ir.Errorf(ir.ErrFormat, "recorded value: expected a %s, got %s: %w", l.Kind, l.Value, err)
	}
	switch l.Kind {
	case "none":
		return nil, nil
	case "bool":
		return decode[bool](l, fail)
	case "str":
		return decode[string](l, fail)
	case "int":
		return decode[int64](l, fail)
	case "float":
		if len(l.Value) > 0 && l.Value[0] == '"' {
			return nonFinite(l, fail)
		}
		return decode[float64](l, fail)
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "recorded value: kind %q is unknown", l.Kind)
}

func decode[T any](l leaf, fail func(error) error) (any, error) {
	var v T
	if err := json.Unmarshal(l.Value, &v); err != nil {
		return nil, fail(err)
	}
	return v, nil
}

// nonFinite reads a float that JSON has no number for.
func nonFinite(l leaf, fail func(error) error) (any, error) {
	var s string
	if err := json.Unmarshal(l.Value, &s); err != nil {
		return nil, fail(err)
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !math.IsInf(v, 0) && !math.IsNaN(v) {
		return nil, ir.Errorf(ir.ErrFormat, "recorded value: expected a float, got %q", s)
	}
	return v, nil
}
