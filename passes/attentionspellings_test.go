package passes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A spelled attention is what testdata/attention_spellings.py or attention_models.py exported.
type spelled struct {
	Spelling, Form        string
	Sets, Inputs, Results int
	Softmaxes             int    // that stay in a network
	Stays                 string // why they do, "" where none does; before a colon, in which form alone
	dir                   string
}

// Every spelling of attention becomes scaled_dot_product_attention, or stays for a reason, and
// computes what PyTorch does of the spelling: to a rounding, and where every place is
// hidden from a query, too.
//
// TORCHFX_ATTENTION_TABLE names a file that the table is written to; TORCHFX_ATTENTION a
// folder of programs that are there already.
func TestAttentionSpellings(t *testing.T) {
	table := newAttentionTable("spelling", "exported", "core", "any", "float64", "bfloat16", "float16")
	for _, s := range exportedBy(t, "attention_spellings.py", "TORCHFX_ATTENTION") {
		t.Run(s.Spelling+"/"+s.Form, func(t *testing.T) {
			left, off, report := s.freezes(t)
			form, _, some := strings.Cut(s.Stays, ": ")
			stays := s.Stays != "" && (!some || form == s.Form)
			assert.Equal(t, stays, left > 0, "%s", report)
			tolerance := map[string]float64{"float64": 1e-13, "bfloat16": 0.05, "float16": 0.01}[s.Form]
			if some && form == "float64" || strings.HasPrefix(s.Spelling, "softmax_") { // a softmax of float32
				tolerance = max(tolerance, 1e-6)
			}
			assert.LessOrEqual(t, off, max(tolerance, map[bool]float64{true: 1e-6}[s.Form != "float64"]), "%s", report)
			table.note(s, left, off)
		})
	}
	table.write(t, os.Getenv("TORCHFX_ATTENTION_TABLE"))
}

// Attention that transformers, timm and torchvision write out becomes scaled_dot_product_attention,
// but for softmaxes that stay for a reason, and the networks compute what PyTorch does, with
// queries among them that every place is hidden from.
//
// The Python that TORCHFX_PYTHON names needs the libraries. TORCHFX_ATTENTION_MODELS_TABLE and
// TORCHFX_ATTENTION_MODELS are as those of TestAttentionSpellings.
func TestAttentionModels(t *testing.T) {
	table := newAttentionTable("network", "exported", "core")
	for _, s := range exportedBy(t, "attention_models.py", "TORCHFX_ATTENTION_MODELS") {
		t.Run(s.Spelling+"/"+s.Form, func(t *testing.T) {
			left, off, report := s.freezes(t)
			assert.Equal(t, s.Softmaxes, left, "%s", report)
			assert.LessOrEqual(t, off, max(report.Tolerance(), 1e-5), "%s", report)
			table.note(s, left, off)
		})
	}
	table.write(t, os.Getenv("TORCHFX_ATTENTION_MODELS_TABLE"))
}

// exportedBy lists what a script of testdata exports, or has exported into the folder that a
// variable names. The script ends with 77 where it finds no libraries.
func exportedBy(t *testing.T, script, variable string) (all []spelled) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	dir := os.Getenv(variable)
	if dir == "" {
		dir = t.TempDir()
		log, err := exec.Command(python, filepath.Join("testdata", script), dir).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 77 {
			t.Skipf("SKIPPED: %s", log)
		}
		require.NoError(t, err, "%s", log)
	}
	data, err := os.ReadFile(filepath.Join(dir, "list.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	for i := range all {
		all[i].dir = dir
	}
	return all
}

// An attentionTable is what came out, a row a spelling, a column a form.
type attentionTable struct {
	of    string
	forms []string
	order []string
	cells map[string]map[string]string
}

func newAttentionTable(of string, forms ...string) *attentionTable {
	return &attentionTable{of: of, forms: forms, cells: map[string]map[string]string{}}
}

func (a *attentionTable) note(s spelled, left int, off float64) {
	if a.cells[s.Spelling] == nil {
		a.cells[s.Spelling] = map[string]string{}
		a.order = append(a.order, s.Spelling)
	}
	text := fmt.Sprintf("%.0e", off)
	if left > 0 {
		text = "stays"
		if s.Softmaxes > 0 {
			text = fmt.Sprintf("%d stay, %.0e", left, off)
		}
		a.cells[s.Spelling]["why"] = s.Stays
	}
	a.cells[s.Spelling][s.Form] = text
}

// write writes the table to a file, "" for none.
func (a *attentionTable) write(t *testing.T, file string) {
	if file == "" {
		return
	}
	var b strings.Builder
	forms := append(slices.Clone(a.forms), "why")
	fmt.Fprintf(&b, "| %s | %s |\n|---%s|\n", a.of, strings.Join(forms, " | "), strings.Repeat("|---", len(forms)))
	for _, name := range a.order {
		fmt.Fprintf(&b, "| %s", name)
		for _, form := range forms {
			fmt.Fprintf(&b, " | %s", a.cells[name][form])
		}
		b.WriteString(" |\n")
	}
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
}

// freezes returns how many softmaxes are left in a frozen program, and how far its results are off.
func (s spelled) freezes(t *testing.T) (softmaxes int, off float64, report *passes.FreezeReport) {
	path := filepath.Join(s.dir, s.Spelling+"."+s.Form)
	p, err := torchfx.Load(path + ".pt2")
	require.NoError(t, err)
	defer p.Close()
	report, err = p.Freeze(t.Context(), passes.WithChoices(passes.Unmeasured()), passes.FreezeDelegate(nil))
	require.NoError(t, err)
	plan, err := p.Compile()
	require.NoError(t, err)
	defer plan.Close()
	for i := range s.Sets {
		var inputs []any
		for j := range s.Inputs {
			inputs = append(inputs, readTensor(t, path+".safetensors", fmt.Sprintf("%d.i%d", i, j)))
		}
		out, err := plan.Run(t.Context(), inputs...)
		require.NoError(t, err, "set %d", i)
		got := leaves(out)
		require.Len(t, got, s.Results)
		for j, x := range got {
			want := readTensor(t, path+".safetensors", fmt.Sprintf("%d.o%d", i, j))
			require.Equal(t, torch.Describe(want), torch.Describe(x))
			off = max(off, difference(t, want, x))
			want.Close()
			x.Close()
		}
		for _, x := range inputs {
			x.(*torch.Tensor).Close()
		}
	}
	for n := range p.Module().Graph().Nodes() {
		if n.Op() == ir.CallFunction && strings.Contains(n.Target().String(), "softmax") {
			softmaxes++
		}
	}
	return softmaxes, off, report
}

// difference is the largest one among elements, as a part of the largest magnitude, infinite
// where one is not a number and the other is.
func difference(t *testing.T, want, got *torch.Tensor) float64 {
	if want.Numel() == 0 {
		return 0
	}
	wide := func(x *torch.Tensor) *torch.Tensor {
		v, err := torch.Call("aten::to.dtype", x, ir.Float64)
		require.NoError(t, err)
		return v.(*torch.Tensor)
	}
	a, b := wide(want), wide(got)
	if number(t, torch.Max(wide(torch.Ne(torch.Isnan(a), torch.Isnan(b))))) != 0 {
		return math.Inf(1)
	}
	a, b = torch.NanToNum(a), torch.NanToNum(b)
	largest := number(t, torch.Max(torch.Abs(a)))
	return number(t, torch.Max(torch.Abs(torch.Sub(a, b)))) / max(largest, math.SmallestNonzeroFloat64)
}
