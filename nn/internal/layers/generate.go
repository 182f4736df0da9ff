package layers

import (
	"bytes"
	"fmt"
	"go/format"
	"sort"
	"strings"
)

// Generate returns the Go source of the layers' types, which is nn/layers.go,
// and of the options of their constructors, nn/options.go.
func Generate() (types, options []byte, err error) {
	var b bytes.Buffer
	b.WriteString(header + "import torch \"github.com/torchfx-go/torchfx/torchops\"\n")
	classes := Table()
	for _, c := range classes {
		if !c.Hand {
			c.generate(&b)
		}
	}
	b.WriteString("\n// types makes an empty layer of each class.\nvar types = map[string]func() Module{\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "%q: func() Module { return new(%s) },\n", c.Name, c.Name)
	}
	b.WriteString("}\n")
	if types, err = format.Source(b.Bytes()); err != nil {
		return nil, nil, err
	}
	options, err = format.Source(generateOptions(classes))
	return types, options, err
}

const header = "// Code generated from internal/layers/layers.txt by go test ./nn/internal/layers -update. DO NOT EDIT.\n\npackage nn\n\n"

func (c *Class) generate(b *bytes.Buffer) {
	n := c.Name
	fmt.Fprintf(b, "\n// %s is torch.nn.%s.", n, c.Signature())
	if c.Call != nil {
		fmt.Fprintf(b, " Its forward is %s.", c.Call.Text())
	}
	fmt.Fprintf(b, "\ntype %s struct {\nleaf\n", n)
	for _, s := range c.State {
		fmt.Fprintf(b, "%s *torch.Tensor\n", Camel(s))
	}
	for _, s := range c.Buffers {
		name := ""
		if strings.HasPrefix(s, "_") { // which the field's name does not tell
			name = s
		}
		fmt.Fprintf(b, "%s *torch.Tensor `nn:\"%s,buffer\"`\n", Camel(s), name)
	}
	b.WriteString("}\n")

	var params, values []string
	for _, p := range c.Params {
		if p.Default == nil {
			params = append(params, lowerCamel(p.Name)+" "+goType(p.Name))
			values = append(values, lowerCamel(p.Name))
		}
	}
	fmt.Fprintf(b, "\n// New%s returns a new [%s]; the arguments that have a default there are options.\n", n, n)
	given := "nil"
	if len(values) > 0 {
		given = "[]any{" + strings.Join(values, ", ") + "}"
	}
	fmt.Fprintf(b, "func New%s(%s) *%s { return build(new(%s), %s, options) }\n", n, strings.Join(append(params, "options ...Option"), ", "), n, n, given)

	var in, args []string
	optional := false
	for _, p := range c.Forward {
		if p.Default != nil {
			optional = true
			continue
		}
		t := "*torch.Tensor"
		if p.Any {
			t = "any"
		}
		in, args = append(in, lowerCamel(p.Name)+" "+t), append(args, lowerCamel(p.Name))
	}
	list := strings.Join(in, ", ")
	arguments := strings.Join(args, ", ")
	fmt.Fprintf(b, "\n// Forward calls the layer.\nfunc (m *%s) Forward(%s) *torch.Tensor { return one(run(m, nil, %s)) }\n", n, list, arguments)
	if optional {
		fmt.Fprintf(b, "\n// ForwardWith is [%s.Forward] with %s as options.\nfunc (m *%s) ForwardWith(%s, options ...Option) *torch.Tensor { return one(run(m, options, %s)) }\n", n, c.optional(), n, list, arguments)
	}
	for _, p := range c.Params {
		if p.Name == "return_indices" {
			fmt.Fprintf(b, "\n// ForwardIndices calls a layer that was made with return_indices.\nfunc (m *%s) ForwardIndices(%s) (output, indices *torch.Tensor) { return two(run(m, nil, %s)) }\n", n, list, arguments)
		}
	}
}

func (c *Class) optional() string {
	var names []string
	for _, p := range c.Forward {
		if p.Default != nil {
			names = append(names, p.Name)
		}
	}
	return strings.Join(names, ", ")
}

// goType is the type of an argument that must be given.
func goType(name string) string {
	switch name {
	case "kernel_size", "output_size", "padding", "normalized_shape", "unflattened_size":
		return "any"
	case "norm_type", "threshold", "value":
		return "float64"
	}
	return "int"
}

// generateOptions writes a function for each argument that has a default.
func generateOptions(classes []*Class) []byte {
	uses := map[string][]string{}
	add := func(name, class string) {
		if list := uses[name]; len(list) == 0 || list[len(list)-1] != class {
			uses[name] = append(list, class)
		}
	}
	for _, c := range classes {
		for _, p := range append(append([]Param(nil), c.Params...), c.Forward...) {
			if p.Default != nil && p.Name[0] != '_' {
				add(p.Name, c.Name)
			}
		}
	}
	var names []string
	for name := range uses {
		names = append(names, name)
	}
	sort.Strings(names)
	var b bytes.Buffer
	b.WriteString(header)
	for _, name := range names {
		list := uses[name]
		of := strings.Join(list, ", ")
		if len(list) > 4 {
			of = fmt.Sprintf("%s and %d others", strings.Join(list[:3], ", "), len(list)-3)
		}
		fmt.Fprintf(&b, "\n// With%s is the argument %s of %s.\nfunc With%s(v any) Option { return Option{Name: %q, Value: v} }\n", Camel(name), name, of, Camel(name), name)
	}
	return b.Bytes()
}

// Camel returns a Python name as an exported Go name: running_mean is RunningMean.
func Camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

func lowerCamel(name string) string {
	s := Camel(name)
	s = strings.ToLower(s[:1]) + s[1:]
	if s == "var" {
		return "variance"
	}
	return s
}
