package functional

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the generated file")

// functions.go has a function for each entry of the two tables.
func TestGenerated(t *testing.T) {
	want, err := generate()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("functions.go", want, 0o644))
	}
	have, err := os.ReadFile("functions.go")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), "run go test ./nn/functional -run Generated -update")
}

func generate() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from torchops/composed.txt and builtins.go by go test ./nn/functional -run Generated -update. DO NOT EDIT.\n\npackage functional\n\nimport torch \"github.com/torchfx-go/torchfx/torchops\"\n")
	all, optional, err := parameters()
	if err != nil {
		return nil, err
	}
	for name, f := range builtins {
		for p := range strings.SplitSeq(f.required, ", ") {
			kind := "Tensor"
			if p == "threshold" || p == "value" {
				kind = "number"
			} else if strings.HasSuffix(p, "_size") || strings.HasSuffix(p, "_factor") || p == "groups" {
				kind = "int"
			}
			all[name] = append(all[name], param{p, kind})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var in, args []string
		for _, p := range all[name] {
			t := "any"
			if strings.HasPrefix(p.annotation, "Tensor") && !strings.Contains(p.annotation, "float") {
				t = "*torch.Tensor"
			}
			in, args = append(in, lower(p.name)+" "+t), append(args, lower(p.name))
		}
		doc := "the options are its keyword arguments"
		if list := optional[name]; len(list) > 0 {
			doc = "the options are " + strings.Join(list, ", ")
		} else if _, builtin := builtins[name]; !builtin {
			doc = "it has no options"
		}
		result, wrap := "*torch.Tensor", "one"
		if strings.HasSuffix(name, "_with_indices") || name == "multi_head_attention_forward" {
			result, wrap = "(_, _ *torch.Tensor)", "two"
		}
		fmt.Fprintf(&b, "\n// %s is torch.nn.functional.%s; %s.\nfunc %s(%s, options ...torch.Kwarg) %s {\nreturn %s(Call(%q, []any{%s}, options))\n}\n",
			upper(name), name, doc, upper(name), strings.Join(in, ", "), result, wrap, name, strings.Join(args, ", "))
	}
	return format.Source(b.Bytes())
}

// A param is a parameter without a default.
type param struct{ name, annotation string }

// parameters reads the signatures of the functions that are Python code.
func parameters() (required map[string][]param, optional map[string][]string, err error) {
	text, err := os.ReadFile("../../torchops/composed.txt")
	required, optional = map[string][]param{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "\t")
		names := strings.Fields(columns[0])
		name, ok := strings.CutPrefix(names[len(names)-1], "torch.nn.functional.")
		if !ok || !Has(name) {
			continue
		}
		required[name] = nil
		for _, p := range splitTop(columns[2]) {
			text, _, hasDefault := strings.Cut(p, " = ")
			p, annotation, _ := strings.Cut(text, ": ")
			switch {
			case p == "*":
			case hasDefault:
				optional[name] = append(optional[name], p)
			default:
				if annotation == "" {
					annotation = "Tensor"
				}
				required[name] = append(required[name], param{p, annotation})
			}
		}
	}
	return required, optional, err
}

// splitTop splits at the commas that are outside of brackets.
func splitTop(text string) (parts []string) {
	depth, start := 0, 0
	for i, r := range text + "," {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace((text + ",")[start:i]))
			start = i + 1
		}
	}
	return parts
}

func upper(name string) string {
	var b strings.Builder
	if base, inPlace := strings.CutSuffix(name, "_"); inPlace {
		return upper(base) + "InPlace"
	}
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func lower(name string) string {
	s := upper(name)
	if s = strings.ToLower(s[:1]) + s[1:]; s == "var" {
		return "variance"
	}
	return s
}
