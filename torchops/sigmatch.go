package torchops

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// match tries the arguments on a signature and puts one value for each parameter
// into bound, nil for what is absent or None. Where it does not fit, ok is false,
// and with explain the error says why. Same rules and texts as
// FunctionSignature::parse in torch/csrc/utils/python_arg_parser.cpp of 2.15.0;
// as there, a list that should hold tensors and does not is an error at once.
func (s *signature) match(args []any, kw []Kwarg, bound []any, explain bool) (ok bool, err error) {
	refuse := func(why func() error) (bool, error) {
		if explain {
			return false, why()
		}
		return false, nil
	}
	spread := s.spread && startsWithInt(args)
	if len(args) > s.positional && !spread {
		return refuse(func() error { return s.tooMany(len(args)) })
	}
	next, keywords := 0, len(kw)
	for i := range s.params {
		p := &s.params[i]
		var v any
		var given, keyword bool
		if next < len(args) {
			if i >= s.positional {
				return refuse(func() error { return s.tooMany(len(args)) })
			}
			v, given = args[next], true
		} else {
			v, given = p.keyword(kw)
			keyword = given
		}
		bound[i] = nil
		switch {
		case !given && p.optional, given && v == nil && p.nullable:
		case !given:
			return refuse(func() error { return s.missing(i) })
		case spread && i == 0 && !keyword && len(args) > 1 && isStandIn(v):
			// sizes of which the first is traced: Python's parser takes that for the
			// whole list, and refuses the rest
			bound[i] = args
			next = len(args)
			continue
		default:
			accepted, failed, err := p.accepts(v, i)
			if err != nil {
				return false, err
			}
			if !accepted && spread && i == 0 && !keyword {
				bound[i] = args
				next = len(args)
				continue
			}
			if !accepted {
				return refuse(func() error { return s.wrong(p, next, keyword, v, failed) })
			}
			bound[i] = v
		}
		if keyword {
			keywords--
		} else if given {
			next++
		}
	}
	if next < len(args) {
		return refuse(func() error { return s.tooMany(len(args)) })
	}
	if keywords > 0 {
		return refuse(func() error { return s.unexpected(kw, len(args)) })
	}
	return true, nil
}

// keyword finds what is given under the name of a parameter, or under NumPy's.
func (p *parameter) keyword(kw []Kwarg) (v any, given bool) {
	for i := range kw {
		if kw[i].Name == p.name {
			return kw[i].Value, true
		}
	}
	for _, alias := range p.aliases {
		for i := range kw {
			if kw[i].Name == alias {
				return kw[i].Value, true
			}
		}
	}
	return nil, false
}

// accepts reports whether a value fits a parameter. Of a list the first element
// decides, and failed is its place where it does not fit, -1 otherwise; the rest is looked
// at when it is converted.
func (p *parameter) accepts(v any, place int) (ok bool, failed int, err error) {
	if isStandIn(v) {
		return true, -1, nil
	}
	switch p.kind {
	case paramTensor:
		if _, isTensor := v.(*Tensor); isTensor {
			return true, -1, nil
		}
		return p.numbers && kindOf(v) != notNumber, -1, nil
	case paramScalar:
		if isInteger64(v) || kindOf(v) != notNumber {
			return true, -1, nil
		}
		return isPlainScalar(v, false), -1, nil
	case paramFloat:
		if k := kindOf(v); k != notNumber {
			return k != complexKind, -1, nil
		}
		return isPlainScalar(v, false), -1, nil
	case paramInt:
		return kindOf(v) == intKind || isPlainScalar(v, true), -1, nil
	case paramSymInt:
		return isIndex(v), -1, nil
	case paramInts:
		x, kind := items(v)
		if kind == "" {
			return p.size > 0 && isIndex(v), -1, nil
		}
		if len(x) == 0 || isIndex(x[0]) {
			return true, -1, nil
		}
		return false, 0, nil
	case paramFloats:
		x, kind := items(v)
		return kind != "" && (len(x) == 0 || kindOf(x[0]) != notNumber || isStandIn(x[0])), -1, nil
	case paramScalars:
		x, kind := items(v)
		for _, item := range x {
			if kindOf(item) == notNumber && !isStandIn(item) {
				return false, -1, nil
			}
		}
		return kind != "", -1, nil
	case paramTensors:
		x, kind := items(v)
		for i, item := range x {
			if !isTensor(item) && !isStandIn(item) {
				return false, -1, ir.Errorf(ir.ErrType, "expected Tensor as element %d in argument %d, but got %s", i, place, typeName(item))
			}
		}
		return kind != "", -1, nil
	case paramBool:
		_, ok = v.(bool)
	case paramDType:
		_, ok = dtypeOf(v)
	case paramLayout:
		_, ok = v.(ir.Layout)
	case paramMemoryFormat:
		_, ok = v.(ir.MemoryFormat)
	case paramDevice:
		switch v.(type) {
		case ir.Device, string, int64:
			ok = true
		}
	case paramString:
		_, ok = v.(string)
	case paramGenerator:
		_, ok = v.(*Generator)
	case paramObject:
		ok = true
	}
	return ok, -1, nil
}

// isPlainScalar reports whether v is a tensor that stands for a number: one
// without dimensions and gradients.
func isPlainScalar(v any, integer bool) bool {
	t, ok := v.(*Tensor)
	if !ok || t == anyNumber {
		return ok
	}
	info, err := t.info()
	return err == nil && len(info.Sizes) == 0 && !info.RequiresGrad && (!integer || info.DType.IsInt())
}

// isIndex reports whether v can be an index: an int, or an integer tensor of one
// element. A bool is none.
func isIndex(v any) bool {
	t, ok := v.(*Tensor)
	if !ok {
		return kindOf(v) == intKind || isStandIn(v)
	}
	if t == anyNumber {
		return true
	}
	info, err := t.info()
	return err == nil && info.Numel == 1 && (info.DType.IsInt() || info.DType == ir.Bool8)
}

func isInteger64(v any) bool { _, large := v.(uint64); return large }

func startsWithInt(args []any) bool { return len(args) > 0 && isIndex(args[0]) }

// pythonDTypes are the types of Python that stand for dtypes.
var pythonDTypes = map[*ir.Func]DType{
	ir.FuncOf("builtins.float"): ir.Float64, ir.FuncOf("builtins.int"): ir.Int64,
	ir.FuncOf("builtins.bool"): ir.Bool8, ir.FuncOf("builtins.complex"): ir.Complex128,
}

func dtypeOf(v any) (dt DType, ok bool) {
	switch v := v.(type) {
	case DType:
		return v, true
	case *ir.Func:
		dt, ok = pythonDTypes[v]
	}
	return dt, ok
}

// The texts of what does not fit.

func typeErrorf(format string, args ...any) error { return ir.Errorf(ir.ErrType, format, args...) }

func (s *signature) tooMany(n int) error {
	if s.required != s.positional {
		return typeErrorf("%s() takes from %d to %d positional arguments but %d were given", s.function, s.required, s.positional, n)
	}
	return typeErrorf("%s() takes %d positional argument%s but %d %s given", s.function, s.positional, plural(s.positional), n, was(n))
}

// takesNothing is what Python itself says of arguments for a method that has no
// parser.
func takesNothing(method string, args []any, kw []Kwarg) error {
	if len(kw) > 0 {
		return typeErrorf("TensorBase.%s() takes no keyword arguments", method)
	}
	return typeErrorf("TensorBase.%s() takes no arguments (%d given)", method, len(args))
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// missing names the parameters from i on that have to be given. Python has an
// "s" too much for one, and none for several.
func (s *signature) missing(i int) error {
	var names []string
	for ; i < len(s.params); i++ {
		if !s.params[i].optional {
			names = append(names, `"`+s.params[i].name+`"`)
		}
	}
	ending := ""
	if len(names) == 1 {
		ending = "s"
	}
	return typeErrorf("%s() missing %d required positional argument%s: %s", s.function, len(names), ending, strings.Join(names, ", "))
}

func (s *signature) wrong(p *parameter, position int, keyword bool, v any, failed int) error {
	want := parameterNames[p.kind]
	if keyword {
		return typeErrorf("%s(): argument '%s' must be %s, not %s", s.function, p.name, want, typeName(v))
	}
	if x, _ := items(v); failed >= 0 && failed < len(x) {
		return typeErrorf("%s(): argument '%s' (position %d) must be %s, but found element of type %s at pos %d",
			s.function, p.name, position+1, want, typeName(x[failed]), failed)
	}
	return typeErrorf("%s(): argument '%s' (position %d) must be %s, not %s", s.function, p.name, position+1, want, typeName(v))
}

// unexpected names the first keyword that is none of the parameters, or one that
// was given by position as well.
func (s *signature) unexpected(kw []Kwarg, positional int) error {
	for _, k := range kw {
		place := slices.IndexFunc(s.params, func(p parameter) bool { return p.name == k.Name })
		if place < 0 {
			return typeErrorf("%s() got an unexpected keyword argument '%s'", s.function, k.Name)
		}
		if place < positional {
			return typeErrorf("%s() got multiple values for argument '%s'", s.function, k.Name)
		}
	}
	return typeErrorf("invalid keyword arguments")
}

// noSignature says that none of several signatures takes the arguments: in the
// words of the only one that takes as many, or by a list of all.
func noSignature(signatures []*signature, args []any, kw []Kwarg, bound []any) error {
	var plausible, told []*signature
	for _, s := range signatures {
		if s.hidden {
			continue
		}
		told = append(told, s)
		if n := len(args) + len(kw); n >= s.required && n <= len(s.params) {
			plausible = append(plausible, s)
		}
	}
	if len(plausible) == 1 {
		if _, err := plausible[0].match(args, kw, bound, true); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString(signatures[0].function + "() received an invalid combination of arguments - got ")
	if len(told) == 1 {
		o := told[0].option()
		switch unmatched := o.unmatched(kw); {
		case len(unmatched) > 0:
			b.WriteString("unrecognized keyword arguments: " + strings.Join(unmatched, ", "))
		case o.takes(args, kw):
			b.WriteString(o.describe(args, kw) + ", but expected " + told[0].String())
		default:
			b.WriteString(argumentTypes(args, kw) + ", but expected " + told[0].String())
		}
		return typeErrorf("%s", b.String())
	}
	b.WriteString(argumentTypes(args, kw) + ", but expected one of:\n")
	for _, s := range told {
		b.WriteString(" * " + s.String() + "\n")
		o := s.option()
		if !o.takes(args, kw) {
			continue
		}
		if unmatched := o.unmatched(kw); len(unmatched) > 0 {
			b.WriteString("      didn't match because some of the keywords were incorrect: " + strings.Join(unmatched, ", ") + "\n")
		} else {
			b.WriteString("      didn't match because some of the arguments have invalid types: " + o.describe(args, kw) + "\n")
		}
	}
	return typeErrorf("%s", b.String())
}

// argumentTypes is "(Tensor, dim=str)". With keywords alone Python leaves the
// last comma.
func argumentTypes(args []any, kw []Kwarg) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString(typeName(a) + ", ")
	}
	for _, k := range kw {
		b.WriteString(k.Name + "=" + typeName(k.Value) + ", ")
	}
	text := b.String()
	if len(args) > 0 {
		text = text[:len(text)-2]
	}
	return "(" + text + ")"
}

// An option is a signature as torch/csrc/utils/invalid_arguments.cpp reads its
// text back: cut at the commas, the name being the last word. So "*" counts as an
// argument, and one with a default is called by the last word of the default.
type option []struct{ typ, name string }

func (s *signature) option() option {
	text := s.String()
	var o option
	for part := range strings.SplitSeq(text[1:len(text)-1], ", ") {
		typ, name := "", part
		if i := strings.LastIndexByte(part, ' '); i >= 0 {
			typ, name = part[:i], part[i+1:]
		}
		o = append(o, struct{ typ, name string }{typ, name})
	}
	return o
}

func (o option) takes(args []any, kw []Kwarg) bool { return len(args)+len(kw) == len(o) }

func (o option) unmatched(kw []Kwarg) (names []string) {
	for _, k := range kw {
		found := false
		for _, a := range o[max(0, len(o)-len(kw)):] {
			found = found || a.name == k.Name
		}
		if !found {
			names = append(names, k.Name)
		}
	}
	return names
}

// describe lists the types of the arguments, those that do not fit in "!".
func (o option) describe(args []any, kw []Kwarg) string {
	parts := make([]string, len(args)+len(kw))
	for i := range parts {
		var v any
		label := ""
		if i < len(args) {
			v = args[i]
		} else {
			label = o[i].name + "="
			v, _ = (&parameter{name: o[i].name}).keyword(kw)
		}
		text := typeName(v)
		if x, kind := items(v); kind != "" {
			types := make([]string, len(x))
			for j, item := range x {
				types[j] = typeName(item)
			}
			switch list := strings.Join(types, ", "); {
			case kind == "list":
				text += " of [" + list + "]"
			case len(x) == 1:
				text += " of (" + list + ",)"
			default:
				text += " of (" + list + ")"
			}
		}
		text = label + text
		if !fits(o[i].typ, v) {
			text = "!" + text + "!"
		}
		parts[i] = text
	}
	text := strings.Join(parts, ", ")
	if len(args) == 0 && len(kw) > 0 {
		text += ", " // as in argumentTypes
	}
	return "(" + text + ")"
}

func fits(typ string, v any) bool {
	switch name := typeName(v); typ {
	case "float":
		return name == "float" || name == "int"
	default:
		return name == typ
	}
}
