package tracer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Dim is a dimension of an input whose size a [Recording] keeps as a symbol.
type Dim struct {
	Input  int    // which leaf of the inputs, from 0
	Dim    int    // which dimension of it; a negative one counts from the end
	Symbol string // its name; dimensions of one symbol have one size. PyTorch's begin with "s": another is prefixed with "s_"
	Step   int64  // sizes go up in this step, for code that needs multiples of it; 0 is 1
}

// A symbol is one size that varies.
type symbol struct {
	name string
	hint int64 // the size that was given
	step int64
	dims []Dim // whose it is
}

// steps are how far a size goes from what was given, alone, in the further runs of
// the code. The first ones have all remainders of a division by up to maxDivisor,
// so that a rounded line is known by its values; the last is a proof.
var steps = [...]int64{1, 2, 3, 4, 5, 6, 7, 8, 29}

const maxDivisor = 8

// symbols groups the dimensions by symbol and checks them against the inputs.
func (r Recording) symbols(leaves []any) ([]symbol, error) {
	var found []symbol
	for _, d := range r.Dynamic {
		if d.Input < 0 || d.Input >= len(leaves) {
			return nil, ir.Errorf(ir.ErrValue, "record: symbol %s: expected an input of 0 to %d, got %d", d.Symbol, len(leaves)-1, d.Input)
		}
		t, ok := leaves[d.Input].(*torch.Tensor)
		if !ok || t == nil {
			return nil, ir.Errorf(ir.ErrType, "record: symbol %s: expected input %d to be a tensor, got %T", d.Symbol, d.Input, leaves[d.Input])
		}
		shape := t.Shape()
		if d.Dim < 0 {
			d.Dim += len(shape)
		}
		if d.Dim < 0 || d.Dim >= len(shape) {
			return nil, ir.Errorf(ir.ErrIndex, "record: symbol %s: expected a dimension of input %d, of shape %v, got %d", d.Symbol, d.Input, shape, d.Dim)
		}
		if !isIdentifier(d.Symbol) {
			return nil, ir.Errorf(ir.ErrValue, "record: dimension %d of input %d: expected a name for its symbol, got %q", d.Dim, d.Input, d.Symbol)
		}
		if d.Symbol[0] != 's' {
			d.Symbol = "s_" + d.Symbol // by the letter PyTorch knows sizes from other numbers
		}
		size := int64(shape[d.Dim])
		i := 0
		for i < len(found) && found[i].name != d.Symbol {
			i++
		}
		if i == len(found) {
			found = append(found, symbol{name: d.Symbol, hint: size, step: 1})
		}
		s := &found[i]
		if s.hint != size {
			return nil, ir.Errorf(ir.ErrValue, "record: symbol %s: expected one size, got %d and %d", d.Symbol, s.hint, size)
		}
		s.step = max(s.step, d.Step)
		s.dims = append(s.dims, d)
	}
	return found, nil
}

func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// sizesOfRuns returns what the symbols are in each run: first as given, then each
// one alone along steps, then all at once.
func sizesOfRuns(symbols []symbol) [][]int64 {
	given := make([]int64, len(symbols))
	for i, s := range symbols {
		given[i] = s.hint
	}
	runs := [][]int64{given}
	if len(symbols) == 0 {
		return runs
	}
	for i, s := range symbols {
		for _, step := range steps {
			run := append([]int64{}, given...)
			run[i] += step * s.step
			runs = append(runs, run)
		}
	}
	all := append([]int64{}, given...)
	for i, s := range symbols {
		all[i] += s.step * int64(4+3*i)
	}
	return append(runs, all)
}

// resized returns the inputs with the symbols' sizes of one run: tensors of zeros,
// or without elements where the given one is.
func resized(leaves []any, symbols []symbol, sizes []int64) ([]any, error) {
	out := append([]any{}, leaves...)
	shapes := map[int][]int{}
	for i, s := range symbols {
		for _, d := range s.dims {
			if shapes[d.Input] == nil {
				shapes[d.Input] = leaves[d.Input].(*torch.Tensor).Shape()
			}
			shapes[d.Input][d.Dim] = int(sizes[i])
		}
	}
	for input, shape := range shapes {
		t := leaves[input].(*torch.Tensor)
		v, err := torch.Call("aten::zeros", shape, torch.Kw("dtype", t.DType()), torch.Kw("device", t.Device()))
		if err != nil {
			return nil, err
		}
		out[input] = v
	}
	return out, nil
}

// A size is a number in terms of the symbols.
type size struct {
	op    byte // 'n' a number, 's' a symbol, '+', '*', '/' floor division
	n     int64
	parts []*size
}

func number64(n int64) *size { return &size{op: 'n', n: n} }

func (a *size) plus(b *size) *size {
	switch {
	case a.op == 'n' && b.op == 'n':
		return number64(a.n + b.n)
	case b.op == 'n' && b.n == 0:
		return a
	case a.op == 'n' && a.n == 0:
		return b
	}
	return &size{op: '+', parts: []*size{a, b}}
}

func (a *size) times(b *size) *size {
	switch {
	case a.op == 'n' && b.op == 'n':
		return number64(a.n * b.n)
	case b.op == 'n' && b.n == 1:
		return a
	case a.op == 'n' && a.n == 1:
		return b
	case a.op == 'n' && a.n == 0:
		return a
	}
	return &size{op: '*', parts: []*size{a, b}}
}

// text writes the size as SymPy's parser reads it, with the assumptions of PyTorch.
func (a *size) text(symbols []symbol) string {
	switch a.op {
	case 'n':
		return fmt.Sprint(a.n)
	case 's':
		return "Symbol('" + symbols[a.n].name + "', positive=True, integer=True)"
	case '/':
		return fmt.Sprintf("(%s//%s)", a.parts[0].text(symbols), a.parts[1].text(symbols))
	}
	return "(" + a.parts[0].text(symbols) + string(a.op) + a.parts[1].text(symbols) + ")"
}

// at returns the number where the symbols are sizes.
func (a *size) at(sizes []int64) int64 {
	switch a.op {
	case 'n':
		return a.n
	case 's':
		return sizes[a.n]
	}
	x, y := a.parts[0].at(sizes), a.parts[1].at(sizes)
	switch a.op {
	case '+':
		return x + y
	case '*':
		return x * y
	}
	return floorDiv(x, y)
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// solve finds what a number is in terms of the symbols from its values in the runs
// of sizesOfRuns: a line, a square or a rounded line in one of them; a product or a
// sum of lines in several. The last run, where all go at once, is the proof.
func solve(values []int64, symbols []symbol, runs [][]int64) (*size, bool) {
	var lines []*size // of the symbols that it depends on
	for i := range symbols {
		along := 1 + i*len(steps)
		x, y := make([]int64, 1, len(steps)+1), make([]int64, 1, len(steps)+1)
		x[0], y[0] = runs[0][i], values[0]
		constant := true
		for k := along; k < along+len(steps); k++ {
			x, y = append(x, runs[k][i]), append(y, values[k])
			constant = constant && values[k] == values[0]
		}
		if constant {
			continue
		}
		line, ok := solveOne(x, y, i)
		if !ok {
			return nil, false
		}
		lines = append(lines, line)
	}
	proven := func(a *size) bool {
		for k, v := range values {
			if a.at(runs[k]) != v {
				return false
			}
		}
		return true
	}
	switch len(lines) {
	case 0:
		a := number64(values[0])
		return a, proven(a)
	case 1:
		return lines[0], proven(lines[0])
	}
	product, sum, offset := number64(1), number64(0), values[0]
	for _, line := range lines {
		product = product.times(primitive(line))
		if slope, _, s := lineOf(line); s != nil {
			sum = sum.plus(number64(slope).times(s))
			offset -= slope * s.at(runs[0])
		}
	}
	if at := product.at(runs[0]); at != 0 && values[0]%at == 0 {
		if whole := number64(values[0] / at).times(product); proven(whole) {
			return whole, true
		}
	}
	sum = sum.plus(number64(offset))
	if proven(sum) {
		return sum, true
	}
	return fraction(product, values, runs)
}

// fraction returns the part of a product that values are, where it is one of no rest.
func fraction(product *size, values []int64, runs [][]int64) (*size, bool) {
	at := product.at(runs[0])
	if at <= 0 || values[0] <= 0 {
		return nil, false
	}
	d := gcd(values[0], at)
	product = number64(values[0] / d).times(product)
	for k, v := range values {
		if product.at(runs[k]) != v*(at/d) {
			return nil, false
		}
	}
	return &size{op: '/', parts: []*size{product, number64(at / d)}}, true
}

// solveOne finds y in terms of symbol i, which is x.
func solveOne(x, y []int64, i int) (*size, bool) {
	s := &size{op: 's', n: int64(i)}
	matches := func(a *size) bool {
		sizes := make([]int64, i+1)
		for k := range x {
			if sizes[i] = x[k]; a.at(sizes) != y[k] {
				return false
			}
		}
		return true
	}
	step := x[1] - x[0]
	if slope := (y[1] - y[0]) / step; slope != 0 {
		if a := number64(slope).times(s).plus(number64(y[0] - slope*x[0])); matches(a) {
			return a, true
		}
	}
	if curve := (y[2] - 2*y[1] + y[0]) / (2 * step * step); curve != 0 {
		slope := (y[1]-y[0])/step - curve*(x[0]+x[1])
		a := number64(curve).times(s.times(s)).plus(number64(slope).times(s)).plus(number64(y[0] - curve*x[0]*x[0] - slope*x[0]))
		if matches(a) {
			return a, true
		}
	}
	// sizes of a coarse step, of which a part is a line: those that a network halves
	// five times, say
	if rise := y[1] - y[0]; rise > 0 {
		d := gcd(rise, step)
		k, slope := step/d, rise/d
		if offset := y[0]*k - slope*x[0]; k > 1 {
			if a := rounded(s, slope, offset, k); matches(a) {
				return a, true
			}
		}
	}
	for k := int64(2); k <= maxDivisor; k++ {
		for slope := int64(1); slope < k; slope++ {
			// all offsets that give y[0], nearest to none first
			least := y[0]*k - slope*x[0]
			for _, offset := range nearestFirst(least, k) {
				if a := rounded(s, slope, offset, k); matches(a) {
					return a, true
				}
			}
		}
	}
	return nil, false
}

// rounded is (slope*s + offset) // divisor.
func rounded(s *size, slope, offset, divisor int64) *size {
	return &size{op: '/', parts: []*size{number64(slope).times(s).plus(number64(offset)), number64(divisor)}}
}

// nearestFirst returns least … least+n-1 by their distance from 0.
func nearestFirst(least, n int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = least + int64(i)
	}
	slices.SortStableFunc(out, func(a, b int64) int { return cmp.Compare(max(a, -a), max(b, -b)) })
	return out
}

// primitive divides a line by the factor that its numbers have in common.
func primitive(a *size) *size {
	slope, offset, symbol := lineOf(a)
	if symbol == nil {
		return a
	}
	d := gcd(slope, offset)
	return number64(slope / d).times(symbol).plus(number64(offset / d))
}

// lineOf takes a line apart; symbol is nil where a is none.
func lineOf(a *size) (slope, offset int64, symbol *size) {
	if a.op == '+' && a.parts[1].op == 'n' {
		a, offset = a.parts[0], a.parts[1].n
	}
	slope = 1
	if a.op == '*' && a.parts[0].op == 'n' {
		slope, a = a.parts[0].n, a.parts[1]
	}
	if a.op != 's' {
		return 0, 0, nil
	}
	return slope, offset, a
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// sizesText says what the symbols are in a run: "batch=3, length=8".
func sizesText(symbols []symbol, sizes []int64) string {
	parts := make([]string, len(symbols))
	for i, s := range symbols {
		parts[i] = fmt.Sprintf("%s=%d", s.name, sizes[i])
	}
	return strings.Join(parts, ", ")
}
