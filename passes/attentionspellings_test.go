package passes_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
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

// A spelled attention is what testdata/attention_spellings.py exported.
type spelled struct {
	Spelling, Form        string
	Sets, Inputs, Results int
	Stays                 string // why it is not fused, "" where it is; before a colon, in which form alone
}

// Every spelling of attention becomes scaled_dot_product_attention, or stays for a reason, and
// computes what PyTorch does of the spelling: to a rounding, and where every place is
// hidden from a query, too.
//
// TORCHFX_ATTENTION_TABLE names a file that the table is written to;
// TORCHFX_ATTENTION a folder of programs that are there already.
func TestAttentionSpellings(t *testing.T) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	dir := os.Getenv("TORCHFX_ATTENTION")
	if dir == "" {
		dir = t.TempDir()
		log, err := exec.Command(python, filepath.Join("testdata", "attention_spellings.py"), dir).CombinedOutput()
		require.NoError(t, err, "%s", log)
	}
	data, err := os.ReadFile(filepath.Join(dir, "list.json"))
	require.NoError(t, err)
	var all []spelled
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all)
	rows, order := map[string]map[string]string{}, []string{}
	for _, s := range all {
		t.Run(s.Spelling+"/"+s.Form, func(t *testing.T) {
			fused, off, report := s.freezes(t, dir)
			form, _, some := strings.Cut(s.Stays, ": ")
			stays := s.Stays != "" && (!some || form == s.Form)
			assert.Equal(t, !stays, fused, "%s", report)
			assert.LessOrEqual(t, off, max(report.Tolerance(), map[string]float64{"float64": 1e-13, "bfloat16": 0.05, "float16": 0.01}[s.Form], map[bool]float64{true: 1e-6}[s.Form != "float64"]), "%s", report)
			if rows[s.Spelling] == nil {
				rows[s.Spelling] = map[string]string{}
				order = append(order, s.Spelling)
			}
			rows[s.Spelling][s.Form] = fmt.Sprintf("%s%.0e", map[bool]string{false: "stays, "}[fused], off)
		})
	}
	if file := os.Getenv("TORCHFX_ATTENTION_TABLE"); file != "" {
		var b strings.Builder
		forms := []string{"exported", "core", "any", "float64", "bfloat16", "float16"}
		fmt.Fprintf(&b, "| spelling | %s |\n|---%s|\n", strings.Join(forms, " | "), strings.Repeat("|---", len(forms)))
		for _, name := range order {
			fmt.Fprintf(&b, "| %s", name)
			for _, form := range forms {
				fmt.Fprintf(&b, " | %s", cmp.Or(rows[name][form], "-"))
			}
			b.WriteString(" |\n")
		}
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
}

// freezes returns whether a spelling was fused, and how far results of the frozen program are off.
func (s spelled) freezes(t *testing.T, dir string) (fused bool, off float64, report *passes.FreezeReport) {
	path := filepath.Join(dir, s.Spelling+"."+s.Form)
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
	return strings.Contains(p.Module().Graph().String(), "scaled_dot_product_attention"), off, report
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
