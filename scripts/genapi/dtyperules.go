package main

import (
	"slices"
	"strings"
)

// A dtypeRule says what dtypes the results have. Where the argument dtype is given and
// not None, it is that, in each rule.
type dtypeRule struct {
	text string
	of   func(c *recorded, i int) string // of a result, "" where it cannot say
}

// defaultFloat is the default dtype of numbers.
const defaultFloat = "float32"

var dtypeRules = map[string]dtypeRule{
	"":               {"", func(c *recorded, i int) string { return c.results[i].dtype }}, // without tensors
	"own":            {"that of {input}", func(c *recorded, _ int) string { return c.firstDType() }},
	"promoted":       {"what the arguments promote to", func(c *recorded, _ int) string { return c.promoted() }},
	"float":          {"that of {input}, the default dtype for integers and bools", func(c *recorded, _ int) string { return floated(c.firstDType()) }},
	"promoted float": {"what the arguments promote to, the default dtype for integers and bools", func(c *recorded, _ int) string { return floated(c.promoted()) }},
	"wide":           {"that of {input}, int64 for integers and bools", func(c *recorded, _ int) string { return widened(c.firstDType()) }},
	"bool":           {"bool", func(*recorded, int) string { return "bool" }},
	"byte bool": {"bool, uint8 for uint8", func(c *recorded, _ int) string {
		if c.firstDType() == "uint8" {
			return "uint8"
		}
		return "bool"
	}},
	"int64": {"int64", func(*recorded, int) string { return "int64" }},
	"indices": {"int64, int32 where out_int32", func(c *recorded, _ int) string {
		if c.bool("out_int32") {
			return "int32"
		}
		return "int64"
	}},
	"real":          {"that of {input}, the real dtype of a complex one", func(c *recorded, _ int) string { return realOf(c.firstDType()) }},
	"real float":    {"that of {input}, the real dtype of a complex one, the default dtype for integers and bools", func(c *recorded, _ int) string { return realOf(floated(c.firstDType())) }},
	"real promoted": {"what the arguments promote to, the real dtype of complex ones", func(c *recorded, _ int) string { return realOf(c.promoted()) }},
	"complex":       {"the complex dtype of {input}, of the default one for integers and bools", func(c *recorded, _ int) string { return complexOf(floated(c.firstDType())) }},
	"default":       {"dtype, the default one where not given", func(*recorded, int) string { return defaultFloat }},
	"ends": {"dtype; the default one where not given, its complex one for complex ends", func(c *recorded, _ int) string {
		if t := c.numbers("start", "end"); strings.HasPrefix(t, "complex") {
			return t
		}
		return defaultFloat
	}},
	"of other": {"that of other", func(c *recorded, _ int) string {
		t, _ := c.tensor("other")
		return t.dtype
	}},
	"own, int64": {"that of {input} for the values, int64 for the places", func(c *recorded, i int) string {
		if i == 0 {
			return c.firstDType()
		}
		return "int64"
	}},
	"own, counts": {"that of {input}, int64 for places and counts", func(c *recorded, i int) string {
		if i == 0 {
			return c.firstDType()
		}
		return "int64"
	}},
	"own, int32": {"that of {input}, int32 for pivots and infos", func(c *recorded, i int) string {
		if i == 0 || i == 1 && len(c.results) == 2 && c.results[1].dtype != "int32" {
			return c.firstDType()
		}
		return "int32"
	}},
	"own, real": {"that of {input}, its real dtype for the values in between", func(c *recorded, i int) string {
		if c.results[i].dtype == c.firstDType() {
			return c.firstDType()
		}
		return realOf(c.firstDType())
	}},
	"uint64": {"uint64", func(*recorded, int) string { return "uint64" }},
	"half":   {"complex32", func(*recorded, int) string { return "complex32" }},
	"counts": {"int64, float64 with weights, float32 where these are", func(c *recorded, _ int) string {
		w, ok := c.tensor("weights")
		switch {
		case !ok:
			return "int64"
		case w.dtype == "float32":
			return w.dtype
		}
		return "float64"
	}},
	"squared": {"that of {input}, int64 for bools", func(c *recorded, _ int) string {
		if d := c.firstDType(); d != "bool" {
			return d
		}
		return "int64"
	}},
	"distance": {"that of the arguments where they have one, the real dtype of complex ones, the default dtype for integers and bools", func(c *recorded, i int) string {
		for _, t := range c.tensors() {
			if t.dtype != c.firstDType() {
				return c.results[i].dtype // which is not said
			}
		}
		return realOf(floated(c.firstDType()))
	}},
	"own, int64 or promoted": {"that of {input} for the values, int64 for the places; what both promote to with other", func(c *recorded, i int) string {
		switch {
		case c.given("other"):
			return c.promoted()
		case i == 0:
			return c.firstDType()
		}
		return "int64"
	}},
	"divided": {"what the arguments promote to, the default dtype for integers and bools without rounding_mode", func(c *recorded, _ int) string {
		if c.given("rounding_mode") {
			return c.promoted()
		}
		return floated(c.promoted())
	}},
	"types": {"what the dtypes promote to", func(c *recorded, _ int) string {
		d := ""
		for _, t := range c.tensors() {
			d = promote(d, t.dtype)
		}
		return d
	}},
	"agreed": {"that of the arguments where they have one, the default dtype for integers and bools", func(c *recorded, i int) string {
		for _, t := range c.tensors() {
			if t.dtype != c.firstDType() {
				return c.results[i].dtype // which is not said
			}
		}
		return floated(c.firstDType())
	}},
	"mask": {"that of {input}, bool for the mask of what is not empty", func(c *recorded, i int) string {
		if x, _ := c.first(); i == 1 && product(x.shape) > 0 {
			return "bool"
		}
		return c.firstDType()
	}},
	"of values": {"that of values", func(c *recorded, _ int) string {
		switch v := c.args["values"].(type) {
		case tensor:
			return v.dtype
		case []any:
			return (&recorded{order: []string{"float", "v"}, args: map[string]any{"v": v[0]}}).numbers("float")
		}
		return ""
	}},
	"spectrum": {"the complex dtype of {input}; its own where return_complex is false", func(c *recorded, _ int) string {
		if c.args["return_complex"] == false {
			return c.firstDType()
		}
		return complexOf(floated(c.firstDType()))
	}},
	"least squares": {"that of {input}, the real dtype of a complex one for residuals and singular values, int64 for the rank", func(c *recorded, i int) string {
		switch i {
		case 0:
			return c.firstDType()
		case 2:
			return "int64"
		}
		return realOf(c.firstDType())
	}},
	"drawn": {"that of mean or std; dtype, the default one, where both are numbers", func(c *recorded, _ int) string {
		if d := c.firstDType(); d != "" {
			return d
		}
		return defaultFloat
	}},
	"double": {"float64, complex128 of complex arguments", func(c *recorded, _ int) string {
		if strings.HasPrefix(c.promoted(), "complex") {
			return "complex128"
		}
		return "float64"
	}},
}

func (c *recorded) firstDType() string {
	t, _ := c.first()
	return t.dtype
}

func isFloat(d string) bool { return strings.HasPrefix(d, "float") || strings.HasPrefix(d, "bfloat") }

func isComplex(d string) bool { return strings.HasPrefix(d, "complex") }

func floated(d string) string {
	if !isFloat(d) && !isComplex(d) {
		return defaultFloat
	}
	return d
}

func widened(d string) string {
	if !isFloat(d) && !isComplex(d) {
		return "int64"
	}
	return d
}

var complexes = map[string]string{"float16": "complex32", "bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}

func realOf(d string) string {
	for real, complex := range complexes {
		if complex == d && real != "bfloat16" {
			return real
		}
	}
	return d
}

func complexOf(d string) string {
	if c := complexes[d]; c != "" {
		return c
	}
	return d
}

// numbers is the dtype of the numbers among some arguments; of all where one is "float".
func (c *recorded) numbers(names ...string) string {
	rank := 0
	for _, name := range c.order {
		if names[0] != "float" && !slices.Contains(names, name) || name == "dtype" {
			continue
		}
		switch v := c.args[name].(type) {
		case bool:
			rank = max(rank, 1)
		case int:
			rank = max(rank, 2)
		case float64:
			rank = max(rank, 3)
		case complex128:
			rank = max(rank, 4)
		case tensor:
			rank = max(rank, 2)
			if isFloat(v.dtype) {
				rank = max(rank, 3)
			}
		}
	}
	if names[0] == "float" && rank == 1 {
		rank = 2
	}
	return []string{"int64", "bool", "int64", defaultFloat, complexOf(defaultFloat)}[rank]
}

// promoted is what tensors and numbers promote to: those without dimensions, and
// numbers, take part by their kind alone where there is something stronger.
func (c *recorded) promoted() string {
	var withDims, without, number string
	add := func(to *string, d string) { *to = promote(*to, d) }
	one := func(v any) {
		switch v := v.(type) {
		case tensor:
			if len(v.shape) > 0 {
				add(&withDims, v.dtype)
			} else {
				add(&without, v.dtype)
			}
		case bool:
			add(&number, "bool")
		case int:
			add(&number, "int64")
		case float64:
			add(&number, defaultFloat)
		case complex128:
			add(&number, complexOf(defaultFloat))
		}
	}
	for _, name := range c.order {
		if name == "out" || name == "alpha" || name == "dim" || name == "keepdim" || name == "rounding_mode" || name == "indexing" {
			continue
		}
		if list, isList := c.args[name].([]any); isList {
			for _, v := range list {
				if t, ok := v.(tensor); ok {
					one(t)
				}
			}
			continue
		}
		one(c.args[name])
	}
	return combine(combine(withDims, without), number)
}

// combine is a, unless b is of a higher kind.
func combine(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	switch {
	case kindOf(b) <= kindOf(a):
		return a
	case kindOf(b) == 3 && isFloat(a):
		return promote(complexOf(a), a)
	}
	return b
}

func kindOf(d string) int {
	switch {
	case isComplex(d):
		return 3
	case isFloat(d):
		return 2
	case d == "bool":
		return 0
	}
	return 1
}

var floatBits = map[string]int{"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "complex32": 16, "complex64": 32, "complex128": 64}

var intBits = map[string]int{"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 8}

// promote is the dtype of two tensors with dimensions.
func promote(a, b string) string {
	if a == "" || b == "" || a == b {
		return strings.TrimSpace(a + map[bool]string{true: b}[a == ""])
	}
	ka, kb := kindOf(a), kindOf(b)
	if ka < kb {
		a, b, ka, kb = b, a, kb, ka
	}
	switch {
	case ka == 3 && kb == 3:
		return bigger(a, b)
	case ka == 3 && kb == 2:
		return bigger(a, complexOf(b))
	case ka == 2 && kb == 2:
		if floatBits[a] == floatBits[b] {
			return "float32"
		}
		return bigger(a, b)
	case ka == 1 && kb == 1:
		if a == "uint8" || b == "uint8" {
			other := a
			if a == "uint8" {
				other = b
			}
			if other == "int8" {
				return "int16"
			}
			return other
		}
		if intBits[a] < intBits[b] {
			return b
		}
	}
	return a
}

func bigger(a, b string) string {
	if floatBits[a] < floatBits[b] {
		return b
	}
	return a
}

func init() {
	for _, d := range []string{"bfloat16", "uint8", "complex128", "complex64", "int8", "float64", "float32", "float16", "int32", "int16"} {
		dtypeRules[d] = dtypeRule{d, func(*recorded, int) string { return d }}
	}
}
