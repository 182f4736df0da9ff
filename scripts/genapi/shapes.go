package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A ruling is what shapes.txt says of a function: its rules, or why it has none.
type ruling struct {
	shape, dtype string
	reason       string
}

// readRulings reads shapes.txt; its head describes it.
func readRulings(root string) (map[string]ruling, error) {
	text, err := os.ReadFile(filepath.Join(root, "scripts/genapi/shapes.txt"))
	if err != nil {
		return nil, err
	}
	all, now := map[string]ruling{}, ruling{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '?':
			now = ruling{reason: strings.TrimSpace(line[1:])}
		case line[0] == '=':
			shape, dtype, _ := strings.Cut(strings.TrimSpace(line[1:]), " ; ")
			now = ruling{shape: shape, dtype: dtype}
			if _, ok := shapeRules[shape]; !ok {
				return nil, fmt.Errorf("shapes.txt: no rule of shape %q", shape)
			}
			if _, ok := dtypeRules[dtype]; !ok {
				return nil, fmt.Errorf("shapes.txt: no rule of dtype %q", dtype)
			}
		default:
			for _, name := range strings.Fields(line) {
				if _, twice := all[name]; twice {
					return nil, fmt.Errorf("shapes.txt: %s stands there twice", name)
				}
				all[name] = now
			}
		}
	}
	return all, nil
}

// sentence says what a function returns, "" where no tensor is or no rule is known.
func (f *function) sentence(r ruling) string {
	if r.shape == "" || r.shape == "none" {
		return ""
	}
	if r.shape == "itself" {
		return "It returns " + f.named(shapeRules[r.shape].text) + ": its shape and dtype stay."
	}
	shape, dtype := shapeRules[r.shape].text, dtypeRules[r.dtype].text
	if shape == dtype {
		return "Shape and dtype: those of " + f.named("{input}") + "."
	}
	if pattern, ok := strings.CutPrefix(shape, "{notation}"); ok {
		shape = f.pattern(pattern)
	}
	return "Shape: " + f.named(shape) + ". Dtype: " + f.named(dtype) + "."
}

// pattern writes a notation with the names of the tensors: "a (n, m) and b (m, p) give
// (n, p)".
func (f *function) pattern(text string) string {
	in, out, _ := strings.Cut(text, " → ")
	names := f.tensorNames()
	parts := strings.SplitAfter(in, "), ")
	for i, p := range parts {
		p = strings.TrimSuffix(p, ", ")
		if i < len(names) {
			p = names[i] + " " + p
		}
		parts[i] = p
	}
	verb := " give "
	if len(parts) == 1 {
		verb = " gives "
	}
	text = parts[len(parts)-1] + verb + strings.ReplaceAll(out, "), (", ") and (")
	if n := len(parts); n > 1 {
		text = strings.Join(parts[:n-1], ", ") + " and " + text
	}
	return text
}

// named puts the names of the tensors into a rule.
func (f *function) named(text string) string {
	names := f.tensorNames()
	first, all := "the tensor", "the tensors"
	if len(names) > 0 {
		first, all = names[0], names[0]
	}
	if n := len(names); n > 1 {
		all = strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.NewReplacer("{input}", first, "{tensors}", all).Replace(text)
}

// tensorNames are the names of the tensors that a function takes.
func (f *function) tensorNames() (names []string) {
	if f.method {
		names = append(names, "x")
	}
	for _, p := range f.signatures[0].params {
		if p.name == "out" || !p.required && len(names) > 0 {
			continue
		}
		if p.typ == "*Tensor" || strings.HasPrefix(p.python, "Tensor") || p.typ == "Seq" || p.typ == "...*Tensor" {
			names = append(names, p.name)
		}
	}
	return names
}
