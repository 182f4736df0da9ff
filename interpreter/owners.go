package interpreter

// owners counts in how many live places each resource of a run stands, and
// closes it when it leaves the last one. Two names of one Go value are one
// resource; two handles of one tensor are two, each closed by itself, since
// libtorch counts references to the tensor behind them.
//
// Resources that are lent to the run (arguments, attributes, a given
// environment, literals of the graph) are counted from lent upwards and so never
// reach zero.
type owners map[resource]int

// lent is more than a run can release.
const lent = 1 << 30

// lend notes that the resources in v belong to somebody else.
func (o owners) lend(v any) {
	eachResource(v, func(x resource) { o[x] = lent })
}

// retain counts one more place for each resource in v and returns them.
func (o owners) retain(v any) (held []resource) {
	eachResource(v, func(x resource) {
		o[x]++
		held = append(held, x)
	})
	return held
}

// release counts one place less for x and closes it when that was the last.
func (o owners) release(x resource) {
	n, ok := o[x]
	switch {
	case !ok:
	case n > 1:
		o[x] = n - 1
	default:
		delete(o, x)
		x.Close()
	}
}

// owns reports whether x is the run's own.
func (o owners) owns(x resource) bool { n := o[x]; return 0 < n && n < lent/2 }

// handOver turns v into what the caller may keep and close: the run's own
// resources are given away, once each; lent ones, and those given away already,
// are handed out as further handles. On an error nothing has changed hands.
func (o owners) handOver(v any) (any, error) {
	type transfer struct {
		x     resource
		count int
	}
	var given []transfer
	var made []resource
	out, err := mapResources(v, func(x resource) (any, error) {
		if o.owns(x) {
			given = append(given, transfer{x, o[x]})
			delete(o, x)
			return x, nil
		}
		y, err := another(x)
		if y, ok := y.(resource); ok && err == nil && y != x {
			made = append(made, y)
		}
		return y, err
	})
	if err != nil {
		for _, t := range given {
			o[t.x] = t.count
		}
		for _, y := range made {
			y.Close()
		}
		return nil, err
	}
	return out, nil
}

// closeAll closes every resource in v.
func closeAll(v any) { eachResource(v, func(x resource) { x.Close() }) }

// keep forgets the resources in v, which close then leaves open.
func (o owners) keep(v any) { eachResource(v, func(x resource) { delete(o, x) }) }

// drop closes the resources in v that are held here.
func (o owners) drop(v any) { eachResource(v, o.release) }

// close closes everything the run still owns and forgets the rest.
func (o owners) close() {
	for x := range o {
		if o.owns(x) {
			x.Close()
		}
	}
	clear(o)
}
