package export

import "github.com/torchfx-go/torchfx/ir"

// misfit says what a schema type expects where an argument of the file does not
// fit it, else "". Fitting is what Python's argument parser takes: numbers
// stand for tensors, integers for floats, one item for a list of fixed length.
func (s *scope) misfit(a *argument, t *ir.Type) string {
	if s.fits(a, t) {
		return ""
	}
	return t.String()
}

func (s *scope) fits(a *argument, t *ir.Type) bool {
	switch t.Kind {
	case ir.TypeOptional:
		return a.tag == asNone || s.fits(a, t.Elem)
	case ir.TypeTensor:
		return a.tag == asTensor || a.tag == asOptionalTensor || s.number(a, asComplex)
	case ir.TypeInt, ir.TypeSymInt:
		return a.tag == asScalarType || s.number(a, asInt)
	case ir.TypeFloat, ir.TypeSymFloat:
		return s.number(a, asFloat)
	case ir.TypeComplex, ir.TypeScalar:
		return s.number(a, asComplex)
	case ir.TypeBool, ir.TypeSymBool:
		return s.number(a, asInt)
	case ir.TypeStr:
		return a.tag == asString
	case ir.TypeDType:
		return a.tag == asScalarType || a.tag == asInt
	case ir.TypeLayout:
		return a.tag == asLayout || a.tag == asInt
	case ir.TypeMemoryFormat:
		return a.tag == asMemoryFormat || a.tag == asInt
	case ir.TypeDevice:
		return a.tag == asDevice || a.tag == asString
	case ir.TypeGenerator, ir.TypeNone:
		return a.tag == asNone
	case ir.TypeList:
		return s.fitsList(a, t)
	}
	return true // objects, any, type variables: whatever the file has
}

func (s *scope) fitsList(a *argument, t *ir.Type) bool {
	if elementTag[a.tag] == asInvalid {
		return t.Len > 0 && s.fits(a, t.Elem) // int[2] given one int
	}
	for i := range a.list {
		if !s.fits(&a.list[i], t.Elem) {
			return false
		}
	}
	return true
}

// number reports whether a is a number no wider than widest: asInt, asFloat or
// asComplex. A value that the file calls a tensor is a number where its table
// says so.
func (s *scope) number(a *argument, widest argTag) bool {
	switch a.tag {
	case asInt, asBool, asSymInt, asSymBool:
		return true
	case asFloat, asSymFloat:
		return widest != asInt
	case asComplex:
		return widest == asComplex
	case asTensor:
		switch s.json.values[a.ref].kind {
		case symIntEntry, symBoolEntry:
			return true
		case symFloatEntry:
			return widest != asInt
		}
	}
	return false
}

// describe names an argument for a message.
func (a *argument) describe() string {
	if a.ref != "" {
		return a.tag.String() + " " + clip(a.ref)
	}
	return a.tag.String()
}
