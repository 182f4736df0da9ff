package delegate

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// A Value is what an input, a constant or a node of a program gives. It means
// something to the program that made it only.
type Value int64

// None is a value that is not there: of a convolution without a bias.
const None Value = -1

// A Program is a region: nodes that read inputs, constants and nodes before them.
// The zero Program is empty and ready.
//
// A mistake in one of its calls (a value of another program, sizes that are not
// those of a kernel) is kept and returned by Words; sizes of tensors are checked where they
// are known, by compiling and preparing.
type Program struct {
	Layouts Layouts // how values between nodes lie; the zero value measures

	kinds   []kind  // of the values, in the order in which they were made
	words   []int64 // of the nodes; operands still number values as kinds does
	refs    []int   // places in words that hold operands
	nodes   int
	outputs []int64 // pairs of a value and a format
	err     error
}

// A kind says where a value comes from, in the order in which a program numbers them.
type kind uint8

const (
	input kind = iota
	constant
	node
	kinds
)

// Input adds an input. Inputs are given to a run in the order of these calls.
func (p *Program) Input() Value { return p.value(input) }

// Constant adds a constant: a tensor that is given when the program is compiled,
// in the order of these calls.
func (p *Program) Constant() Value { return p.value(constant) }

// Inputs counts the inputs.
func (p *Program) Inputs() int { return p.count(input) }

// Constants counts the constants.
func (p *Program) Constants() int { return p.count(constant) }

// Outputs counts the outputs.
func (p *Program) Outputs() int { return len(p.outputs) / 2 }

// Nodes counts the nodes.
func (p *Program) Nodes() int { return p.nodes }

// Output adds v to what a run returns, in the memory format f.
func (p *Program) Output(v Value, f Format) {
	p.check("output", v)
	p.outputs = append(p.outputs, int64(v), int64(f))
}

func (p *Program) value(k kind) Value {
	p.kinds = append(p.kinds, k)
	return Value(len(p.kinds) - 1)
}

func (p *Program) count(k kind) (n int) {
	for _, is := range p.kinds {
		if is == k {
			n++
		}
	}
	return n
}

func (p *Program) fail(format string, args ...any) {
	if p.err == nil {
		p.err = ir.Errorf(ir.ErrValue, "region: "+format, args...)
	}
}

func (p *Program) check(what string, v Value) {
	if v < 0 || int(v) >= len(p.kinds) {
		p.fail("%s: expected a value of this program, got %d of %d", what, v, len(p.kinds))
	}
}

// An operand is a word that numbers a value; optional where it may be None.
type operand struct {
	value    Value
	optional bool
}

// bits is a floating-point word.
func bits(f float64) int64 { return int64(math.Float64bits(f)) }

// node appends a node of the parts, which are operands, words and lists of words.
func (p *Program) node(op opcode, parts ...any) Value {
	p.words = append(p.words, int64(op), 0)
	length := len(p.words)
	reference := func(v Value, optional bool) {
		if v != None || !optional {
			p.check(op.String(), v)
		}
		p.refs = append(p.refs, len(p.words))
		p.words = append(p.words, int64(v))
	}
	for _, part := range parts {
		switch part := part.(type) {
		case operand:
			reference(part.value, part.optional)
		case Value:
			reference(part, false)
		case []Value:
			for _, v := range part {
				reference(v, false)
			}
		case int64:
			p.words = append(p.words, part)
		case []int64:
			p.words = append(p.words, part...)
		}
	}
	p.words[length-1] = int64(len(p.words) - length)
	p.nodes++
	return p.value(node)
}

// Words returns the program as tfx_delegate.h describes it, or the first mistake
// that was made.
func (p *Program) Words() ([]int64, error) {
	if p.err != nil {
		return nil, p.err
	}
	// a program numbers inputs first, then constants, then nodes
	var first [kinds]int64
	first[constant] = int64(p.count(input))
	first[node] = first[constant] + int64(p.count(constant))
	number := make([]int64, len(p.kinds))
	for v, k := range p.kinds {
		number[v] = first[k]
		first[k]++
	}
	words := make([]int64, 0, 7+len(p.words)+len(p.outputs))
	words = append(words, magic, version, int64(p.Layouts), int64(p.Inputs()), int64(p.Constants()), int64(p.nodes), int64(p.Outputs()))
	head := len(words)
	words = append(words, p.words...)
	for _, at := range p.refs {
		if v := words[head+at]; v >= 0 {
			words[head+at] = number[v]
		}
	}
	for i := 0; i < len(p.outputs); i += 2 {
		words = append(words, number[p.outputs[i]], p.outputs[i+1])
	}
	return words, nil
}
