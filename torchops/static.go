package torchops

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// What of a call can be settled before its tensors are there. A plan resolves
// functions once and calls the operators itself; here are the rules by which
// [Invoke] would have found them at each call.

// An Unknown stands among arguments for a value that only a run has.
type Unknown struct {
	Slot int // of the plan; negative for what no operator takes, a slice say
	Kind UnknownKind
}

// An UnknownKind is what is known of an [Unknown] all the same.
type UnknownKind uint8

// The kinds.
const (
	UnknownAny UnknownKind = iota
	UnknownTensor
	UnknownInt
	UnknownFloat
	UnknownBool
)

// A Candidate is one operator that a function calls if it takes the arguments.
type Candidate struct {
	Call libtorch.PlanCall

	// Tuples says that lists of tensors among the results are tuples, as the
	// functions of torch return them.
	Tuples bool

	failure func(args []any, kw []Kwarg, cause error) error
	made    []*libtorch.Tensor
}

// Candidates returns the operators that [Invoke] tries for f with these arguments,
// in its order, with an operand for each argument of their schemas. number is what
// an operator of Python does with two numbers, "add" or "floordiv", and "" for
// other functions. ok is false where f is computed otherwise, or where only the
// call itself can find what to do.
//
// The error is of class ir.ErrUnsupported where libtorch lacks an operator.
func Candidates(f *ir.Func, args []any, kw []Kwarg) (c []*Candidate, number string, ok bool, err error) {
	impl := implementationOf(f)
	switch {
	case impl == nil && f.Op() != "":
		c, ok, err = settleOverload(f, args, kw)
	case impl == nil:
	case impl.public != nil:
		c, ok, err = impl.public.settle(args, kw)
	case pythonOperators[f] != nil && len(kw) == 0:
		number = pythonNumbers[f]
		c, ok, err = settleWays(pythonOperators[f], args)
	}
	if !ok || err != nil {
		for _, candidate := range c {
			candidate.Close()
		}
		return nil, "", false, err
	}
	return c, number, true, nil
}

// Close frees the tensors that were made for numbers.
func (c *Candidate) Close() {
	for _, h := range c.made {
		_ = h.Close()
	}
	c.made = nil
}

// Failure is the error of a run in which the operator failed, as [Invoke] makes it
// of what libtorch reported.
func (c *Candidate) Failure(args []any, kw []Kwarg, cause error) error {
	return c.failure(args, kw, cause)
}

// settleOverload binds the arguments of torch.ops.<namespace>.<name>.<overload>.
func settleOverload(f *ir.Func, args []any, kw []Kwarg) ([]*Candidate, bool, error) {
	o, err := libtorch.Find(f.Op())
	if err != nil {
		return nil, false, err
	}
	schema := o.Schema()
	values, err := (&call{schema: schema}).arrange(args, kw)
	if err != nil {
		return nil, false, nil
	}
	c := &Candidate{Call: libtorch.PlanCall{Op: o}}
	c.failure = func(args []any, kw []Kwarg, cause error) error { return operatorError(schema, args, kw, cause) }
	fits, sure := c.operands(values, func(int) bool { return false })
	return []*Candidate{c}, fits && sure, nil
}

// operands makes an operand of each value. fits is false where one that is known
// is not taken, sure where that is certain.
func (c *Candidate) operands(values []any, strict func(i int) bool) (fits, sure bool) {
	schema := c.Call.Op.Schema()
	if !carried(schema) {
		return false, false
	}
	for i, v := range values {
		if v == (missing{}) {
			return false, false
		}
		o, fits, sure := c.operand(v, &schema.Args[i], strict(i))
		if !fits {
			return false, sure
		}
		c.Call.Args = append(c.Call.Args, o)
	}
	return true, true
}

// carried reports whether a plan can hold the results of an operator without
// losing what they are: a dtype is a number to the bridge.
func carried(s *ir.Schema) bool {
	if s.VarArgs || s.VarReturns {
		return false
	}
	return !slices.ContainsFunc(s.Returns, func(r ir.Param) bool {
		switch r.Type.Required().Kind {
		case ir.TypeDType, ir.TypeLayout, ir.TypeMemoryFormat, ir.TypeDict, ir.TypeQScheme:
			return true
		}
		return false
	})
}

// operand makes the operand of an argument. With strict, no number may
// stand for a tensor, and no tensor for a number.
func (c *Candidate) operand(v any, a *ir.Param, strict bool) (o libtorch.PlanOperand, fits, sure bool) {
	switch v := v.(type) {
	case Unknown:
		return libtorch.PlanOperand{Kind: libtorch.PlanSlot, Slot: v.Slot, Strict: strict}, v.Slot >= 0, v.Slot >= 0
	case []any:
		if hasUnknown(v) {
			return c.list(v, a)
		}
	case ir.PyTuple:
		if hasUnknown(v) {
			return c.list(v, a)
		}
	}
	t := &a.Type
	v, err := normalize(v)
	if err != nil || !t.HasTensor() && holdsTensor(v) {
		return o, false, false // its elements decide
	}
	if strict && t.Required().Kind == ir.TypeTensor && kindOf(v) != notNumber {
		return o, false, true
	}
	call := call{schema: c.Call.Op.Schema()}
	o.Const, fits, err = call.encode(v, t)
	c.made = append(c.made, call.made...)
	if fits && err == nil {
		o.Const, err = call.fixedLength(o.Const, a)
	}
	return o, fits && err == nil, err == nil && strict
}

// list makes the operand of a list of which some items are not known.
func (c *Candidate) list(items []any, a *ir.Param) (o libtorch.PlanOperand, fits, sure bool) {
	list := a.Type.Required()
	if list.Kind != ir.TypeList {
		return o, false, false
	}
	switch list.Elem.Required().Kind {
	case ir.TypeTensor, ir.TypeInt, ir.TypeSymInt:
	default:
		return o, false, false
	}
	o.Kind = libtorch.PlanList
	for _, item := range items {
		if x, kind := itemsOf(item); kind && hasUnknown(x) {
			return o, false, false
		}
		one, fits, _ := c.operand(item, &ir.Param{Name: a.Name, Type: *list.Elem}, true)
		if !fits {
			return o, false, false
		}
		o.Items = append(o.Items, one)
	}
	return o, true, true
}

func itemsOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case ir.PyTuple:
		return v, true
	}
	return nil, false
}

func hasUnknown(x []any) bool {
	return slices.ContainsFunc(x, func(v any) bool {
		if _, ok := v.(Unknown); ok {
			return true
		}
		items, ok := itemsOf(v)
		return ok && hasUnknown(items)
	})
}

func holdsTensor(v any) bool {
	if _, ok := v.(*Tensor); ok {
		return true
	}
	x, _ := items(v)
	return slices.ContainsFunc(x, holdsTensor)
}

// settle binds the arguments to the signatures of a public function, as choose
// does.
func (p *public) settle(args []any, kw []Kwarg) (all []*Candidate, ok bool, err error) {
	if p.run != nil {
		return nil, false, nil
	}
	args, kw, err = settled(args, kw)
	if err != nil {
		return nil, false, nil
	}
	var self any
	if p.method {
		if len(args) == 0 {
			return nil, false, nil
		}
		self, args = args[0], args[1:]
		if u, isUnknown := self.(Unknown); isUnknown && u.Slot < 0 {
			return nil, false, nil
		} else if _, isTensor := self.(*Tensor); !isTensor && !isUnknown {
			return nil, false, nil
		}
	}
	for _, s := range p.signatures {
		c, fits, sure, err := s.settle(p.method, self, args, kw)
		if c != nil {
			all = append(all, c)
		}
		if err != nil || !sure {
			return all, false, err
		}
		if !fits {
			if c != nil {
				c.Close()
				all = all[:len(all)-1]
			}
			continue
		}
		if !hasUnknown(args) && !slices.ContainsFunc(kw, func(k Kwarg) bool { return hasUnknown([]any{k.Value}) }) {
			break // nothing decides later
		}
	}
	return all, len(all) > 0, nil
}

// settled normalizes the arguments that are known.
func settled(args []any, kw []Kwarg) ([]any, []Kwarg, error) {
	known := func(v any) (any, error) {
		if hasUnknown([]any{v}) {
			return v, nil
		}
		return normalize(v)
	}
	args, kw = slices.Clone(args), slices.Clone(kw)
	for i := range args {
		v, err := known(args[i])
		if err != nil {
			return nil, nil, err
		}
		args[i] = v
	}
	for i := range kw {
		v, err := known(kw[i].Value)
		if err != nil {
			return nil, nil, err
		}
		kw[i].Value = v
	}
	return args, kw, nil
}

// settle binds the arguments to one signature.
func (s *signature) settle(method bool, self any, args []any, kw []Kwarg) (c *Candidate, fits, sure bool, err error) {
	bound, fits, sure := s.settleMatch(args, kw)
	if !fits || !sure {
		return nil, fits, sure, nil
	}
	if s.out >= 0 && bound[s.out] != nil || s.options && bound[len(s.params)-1] != nil && bound[len(s.params)-1] != false {
		return nil, false, false, nil
	}
	p, err := s.plan(method, false)
	if err != nil {
		return nil, false, false, err
	}
	schema := p.operator.Schema()
	if !carried(schema) {
		return nil, false, false, nil
	}
	c = &Candidate{Call: libtorch.PlanCall{Op: p.operator, Python: true}, Tuples: true}
	c.failure = func(args []any, kw []Kwarg, cause error) error { return s.failure(p, method, args, kw, cause) }
	for i, src := range p.from {
		a := &schema.Args[i]
		var v any
		var param *parameter
		switch {
		case src.param >= 0:
			v, param = bound[src.param], &s.params[src.param]
		case src.param == fromReceiver:
			v = self
		}
		if v == nil {
			c.Call.Args = append(c.Call.Args, libtorch.PlanOperand{Const: src.absent})
			continue
		}
		o, ok := c.bound(s, param, v, a)
		if !ok {
			return c, false, false, nil
		}
		c.Call.Args = append(c.Call.Args, o)
	}
	return c, true, true, nil
}

// bound makes the operand of a value that a parameter has accepted.
func (c *Candidate) bound(s *signature, p *parameter, v any, a *ir.Param) (o libtorch.PlanOperand, ok bool) {
	t := &a.Type
	if hasUnknown([]any{v}) {
		if p != nil && p.kind == paramInts {
			if u, single := v.(Unknown); single && u.Kind == UnknownInt {
				return o, false // one number for a list
			}
		}
		o, fits, _ := c.operand(v, a, t.Required().Kind == ir.TypeTensor && (p == nil || !p.numbers))
		return o, fits
	}
	if !t.HasTensor() && holdsTensor(v) {
		return o, false
	}
	call := call{schema: c.Call.Op.Schema(), public: true}
	encoded, err := call.convert(s, p, v, t)
	if err == nil {
		encoded, err = call.fixedLength(encoded, a)
	}
	c.made = append(c.made, call.made...)
	return libtorch.PlanOperand{Const: encoded}, err == nil
}

// settleMatch is match for arguments that may be unknown, which fit wherever a
// value of their kind could.
func (s *signature) settleMatch(args []any, kw []Kwarg) (bound []any, fits, sure bool) {
	if len(args) > s.positional && !s.spread {
		return nil, false, true
	}
	bound = make([]any, len(s.params))
	next, keywords := 0, len(kw)
	for i := range s.params {
		p := &s.params[i]
		var v any
		var given, keyword bool
		if next < len(args) {
			if i >= s.positional {
				return nil, false, true
			}
			v, given = args[next], true
		} else {
			v, given = p.keyword(kw)
			keyword = given
		}
		switch {
		case !given && p.optional, given && v == nil && p.nullable:
		case !given:
			return nil, false, true
		default:
			if s.spread && i == 0 && !keyword {
				if ints, sure := spreadInts(args); !sure {
					return nil, false, false
				} else if ints {
					bound[i] = slices.Clone(args)
					next = len(args)
					continue
				}
				if len(args) > s.positional {
					return nil, false, true
				}
			}
			accepted, sure := p.couldAccept(v, i)
			if !accepted || !sure {
				return nil, false, sure
			}
			bound[i] = v
		}
		if keyword {
			keywords--
		} else if given {
			next++
		}
	}
	return bound, next == len(args) && keywords == 0, true
}

// spreadInts reports whether positional arguments are the integers of one list.
func spreadInts(args []any) (ints, sure bool) {
	if u, ok := args[0].(Unknown); ok {
		return u.Kind == UnknownInt, u.Kind != UnknownAny
	}
	if _, list := itemsOf(args[0]); list {
		return false, true
	}
	return startsWithInt(args), !holdsTensor(args[0])
}

// couldAccept is accepts for a value that may be unknown.
func (p *parameter) couldAccept(v any, place int) (accepted, sure bool) {
	switch v := v.(type) {
	case Unknown:
		return p.takesKind(v.Kind), v.Slot >= 0
	case []any:
		if hasUnknown(v) {
			return p.kind == paramInts || p.kind == paramTensors, true
		}
	case ir.PyTuple:
		if hasUnknown(v) {
			return p.kind == paramInts || p.kind == paramTensors, true
		}
	}
	if holdsTensor(v) && p.kind != paramTensor && p.kind != paramTensors {
		return false, p.kind == paramBool || p.kind == paramString || p.kind == paramDType
	}
	ok, _, err := p.accepts(v, place)
	return ok, err == nil
}

// takesKind reports whether a value of the kind could be a parameter's.
func (p *parameter) takesKind(k UnknownKind) bool {
	switch k {
	case UnknownInt, UnknownFloat, UnknownBool:
		return p.kind != paramTensors && p.kind != paramBool && p.kind != paramString && (p.kind != paramTensor || p.numbers) || k == UnknownBool
	case UnknownTensor:
		return p.kind != paramBool && p.kind != paramString && p.kind != paramDType && p.kind != paramTensors
	}
	return true
}

// failure describes the arguments that the operator got by their names.
func (s *signature) failure(p *plan, method bool, args []any, kw []Kwarg, cause error) error {
	var self any
	if method && len(args) > 0 {
		self, args = args[0], args[1:]
	}
	bound := make([]any, len(s.params))
	if _, err := s.match(args, kw, bound, false); err != nil {
		return cause
	}
	return publicError(s, p, self, bound, cause)
}

// settleWays makes the candidates of an operator of Python.
func settleWays(ways []way, args []any) (all []*Candidate, ok bool, err error) {
	for _, w := range ways {
		if len(args) != len(w.order) {
			return all, false, nil
		}
		o, err := libtorch.Find(w.op)
		if err != nil {
			return all, false, err
		}
		ordered := func(args []any) []any {
			out := make([]any, len(args))
			for i, from := range w.order {
				out[i] = args[from]
			}
			return out
		}
		c := &Candidate{Call: libtorch.PlanCall{Op: o}}
		c.failure = func(args []any, kw []Kwarg, cause error) error {
			return operatorError(o.Schema(), ordered(args), kw, cause)
		}
		values, err := (&call{schema: o.Schema()}).arrange(ordered(args), nil)
		if err != nil {
			return all, false, nil
		}
		fits, sure := c.operands(values, func(i int) bool { return i >= len(w.strict) || w.strict[i] })
		if !fits {
			c.Close()
			if !sure {
				return all, false, nil
			}
			continue
		}
		all = append(all, c)
	}
	return all, true, nil
}

// A way is one operator that an operator of Python may be for tensors.
type way struct {
	op     string
	order  []int  // the operand that each argument is
	strict []bool // by argument: no number for a tensor, no tensor for a number
}

var (
	pythonOperators = map[*ir.Func][]way{}
	pythonNumbers   = map[*ir.Func]string{}
)

func init() {
	for i := range binaries {
		b := &binaries[i]
		for k, name := range b.names {
			f := ir.FuncOf("operator." + name)
			pythonOperators[f] = b.tensor.ways(k == 1)
			pythonNumbers[f] = b.names[0]
		}
	}
	straight, swapped := []int{0, 1}, []int{1, 0}
	for _, c := range comparisons {
		f := ir.FuncOf("operator." + c.name)
		pythonOperators[f] = []way{
			{"aten::" + c.name + ".Tensor", straight, []bool{true, true}},
			{"aten::" + c.name + ".Scalar", straight, []bool{true, true}},
			{"aten::" + c.swapped + ".Scalar", swapped, []bool{true, true}},
		}
		pythonNumbers[f] = c.name
	}
	for _, u := range unaries {
		if u.sign == "~" {
			continue // it refuses floats in words of Python's own
		}
		pythonOperators[ir.FuncOf("operator."+u.name)] = []way{{u.op, []int{0}, []bool{true}}}
	}
}

// ways lists what apply chooses from, in its order.
func (o *tensorBinary) ways(inplace bool) (all []way) {
	straight, swapped := []int{0, 1}, []int{1, 0}
	if inplace && o.inplace != "" {
		all = append(all, way{o.inplace, straight, []bool{true, o.inplaceScalar != ""}})
		if o.inplaceScalar != "" {
			all = append(all, way{o.inplaceScalar, straight, []bool{true, true}})
		}
	} else {
		all = append(all, way{o.tensor, straight, []bool{true, o.scalar != "" || o.tensorsOnly}})
		if o.scalar != "" {
			all = append(all, way{o.scalar, straight, []bool{true, true}})
		}
	}
	switch {
	case o.tensorsOnly, o.left != nil:
	case o.first != "":
		all = append(all, way{o.first, straight, []bool{false, true}})
	case o.reflected != "":
		all = append(all, way{o.reflected, swapped, []bool{true, false}})
	case o.swap != "":
		all = append(all, way{o.swap, swapped, []bool{true, false}})
	}
	return all
}

// FromBridge turns a value of package libtorch into one of a run.
func FromBridge(v any) any {
	if t, ok := v.(ir.PyTuple); ok {
		return ir.PyTuple(listOf(t, FromBridge))
	}
	return (&call{}).result(v)
}

// ToBridge turns a value of a run into one that package libtorch can carry
// without losing what it is. ok is false for what has no form there, a dtype or a
// dict say, and for a closed tensor.
func ToBridge(v any) (carried any, ok bool) {
	v, err := normalize(v)
	if err != nil {
		return nil, false
	}
	switch v := v.(type) {
	case nil, int64, float64, bool, complex128, string:
		return v, true
	case *Tensor:
		h, err := v.Handle()
		return h, err == nil && !h.Closed()
	case []any:
		return carryAll(v)
	case ir.PyTuple:
		x, ok := carryAll(v)
		return ir.PyTuple(x), ok
	}
	return nil, false
}

func carryAll(x []any) ([]any, bool) {
	out := make([]any, len(x))
	for i, item := range x {
		var ok bool
		if out[i], ok = ToBridge(item); !ok {
			return nil, false
		}
	}
	return out, true
}
