package ir

// Eval computes e with the values that env gives its symbols: an [Int], [Float]
// or [Bool]. The result is one of these as well.
//
// Numbers are Python's: // and % round down, / of integers is exact or a float,
// round goes to even. An integer that needs more than 64 bits is an error of
// class [ErrValue], a division by zero one of [ErrZeroDivision], a symbol
// without a value one of [ErrKey].
func (e *Expr) Eval(env func(symbol string) (value Arg, ok bool)) (Arg, error) {
	n, err := e.eval(env)
	if err != nil {
		return nil, err
	}
	return n.arg(), nil
}

func (e *Expr) eval(env func(string) (Arg, bool)) (number, error) {
	switch {
	case e.symbol != "":
		value, ok := env(e.symbol)
		if !ok {
			return number{}, Errorf(ErrKey, "expression: symbol %s has no value", e.symbol)
		}
		n, ok := numberOf(value)
		if !ok {
			return number{}, Errorf(ErrType, "expression: symbol %s: expected an int, float or bool, got %T", e.symbol, value)
		}
		return n, nil
	case e.isNumber():
		return e.value, nil
	case e.fn == fnAnd || e.fn == fnOr:
		return e.evalLogic(env)
	case e.fn == fnWhere:
		c, err := e.args[0].eval(env)
		if err != nil {
			return number{}, err
		}
		if c.truth() {
			return e.args[1].eval(env)
		}
		return e.args[2].eval(env)
	}
	var few [4]number
	args := few[:0]
	for _, a := range e.args {
		n, err := a.eval(env)
		if err != nil {
			return number{}, err
		}
		args = append(args, n)
	}
	n, err := e.fn.eval(args)
	if err != nil {
		return number{}, Errorf(ClassOf(err), "expression %s: %w", e, err)
	}
	return n, nil
}

// evalLogic stops at the first argument that decides, as Python's and and or.
func (e *Expr) evalLogic(env func(string) (Arg, bool)) (number, error) {
	decides := e.fn == fnOr
	for _, a := range e.args {
		n, err := a.eval(env)
		if err != nil {
			return number{}, err
		}
		if n.truth() == decides {
			return boolNumber(decides), nil
		}
	}
	return boolNumber(!decides), nil
}
