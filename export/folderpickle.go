package export

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/torchfx-go/torchfx/ir"
)

// Bounds on a pickle.
const (
	maxPickle      = 64 << 20 // bytes
	maxPickleItems = 1 << 22  // values made
)

// The values that a pickle makes, beside nil, bool, int64, float64 and string.
type (
	pickleTuple  []any
	pickleList   struct{ items []any }
	pickleDict   struct{ keys, values []any } // an OrderedDict, too
	pickleGlobal string                       // "module name", allowed but not called
	pickleMark   struct{}
)

// An unpickler runs the part of the pickle language that torch.load accepts
// with weights_only, and calls nothing: what a pickle wants called goes through
// reduce, which knows a fixed list. Source: torch/_weights_only_unpickler.py of
// 2.15.0.
type unpickler struct {
	data       []byte
	pos        int
	stack      []any
	memo       map[uint32]any
	made       int
	persistent func(id any) (any, error)
	reduce     func(global pickleGlobal, args pickleTuple) (any, error)
}

func (p *unpickler) fail(format string, args ...any) error {
	return ir.Errorf(ir.ErrFormat, "pickle, byte %d: "+format, append([]any{p.pos}, args...)...)
}

// load returns the one value of the pickle.
func (p *unpickler) load() (any, error) {
	if len(p.data) > maxPickle {
		return nil, ir.Errorf(ir.ErrFormat, "pickle: expected at most %d bytes, got %d", maxPickle, len(p.data))
	}
	p.memo = map[uint32]any{}
	for {
		op, err := p.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			return p.pop()
		}
		if err := p.step(op[0]); err != nil {
			return nil, err
		}
		if p.made++; p.made > maxPickleItems {
			return nil, p.fail("expected at most %d values, got more", maxPickleItems)
		}
	}
}

func (p *unpickler) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.data)-p.pos {
		return nil, p.fail("expected %d more bytes, got %d", n, len(p.data)-p.pos)
	}
	b := p.data[p.pos : p.pos+n]
	p.pos += n
	return b, nil
}

func (p *unpickler) uint(n int) (uint32, error) {
	b, err := p.take(n)
	if err != nil {
		return 0, err
	}
	var full [4]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint32(full[:]), nil
}

func (p *unpickler) push(v any) error {
	p.stack = append(p.stack, v)
	return nil
}

func (p *unpickler) pop() (any, error) {
	n := len(p.stack)
	if n == 0 {
		return nil, p.fail("expected a value on the stack, got none")
	}
	v := p.stack[n-1]
	p.stack = p.stack[:n-1]
	if _, mark := v.(pickleMark); mark {
		return nil, p.fail("expected a value on the stack, got a mark")
	}
	return v, nil
}

func (p *unpickler) popN(n int) ([]any, error) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := p.pop()
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

// popMark returns the values above the last mark and drops it.
func (p *unpickler) popMark() ([]any, error) {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if _, mark := p.stack[i].(pickleMark); mark {
			items := append([]any(nil), p.stack[i+1:]...)
			p.stack = p.stack[:i]
			return items, nil
		}
	}
	return nil, p.fail("expected a mark on the stack, got none")
}

func (p *unpickler) top() any {
	if len(p.stack) == 0 {
		return nil
	}
	return p.stack[len(p.stack)-1]
}

// step executes one opcode.
func (p *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := p.take(1)
		if err == nil && v[0] != 2 {
			err = p.fail("expected protocol 2, got %d", v[0])
		}
		return err
	case '(': // MARK
		return p.push(pickleMark{})
	case '}': // EMPTY_DICT
		return p.push(&pickleDict{})
	case ']': // EMPTY_LIST
		return p.push(&pickleList{})
	case ')': // EMPTY_TUPLE
		return p.push(pickleTuple{})
	case 'N': // NONE
		return p.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return p.push(op == 0x88)
	case 'K', 'M', 'J', 0x8a, 'G', 'X', 'U':
		return p.literal(op)
	case 'q', 'r', 'h', 'j':
		return p.memoize(op)
	case 'a', 'e', 's', 'u':
		return p.fill(op)
	case 't', 0x85, 0x86, 0x87:
		return p.tuple(op)
	case 'c': // GLOBAL
		return p.global()
	case 'Q': // BINPERSID
		id, err := p.pop()
		if err != nil {
			return err
		}
		v, err := p.persistent(id)
		if err != nil {
			return err
		}
		return p.push(v)
	case 'R', 0x81, 'b':
		return p.call(op)
	}
	return p.fail("opcode 0x%02x is not one of a state's", op)
}

func (p *unpickler) literal(op byte) error {
	switch op {
	case 'K', 'M': // BININT1, BININT2
		n, err := p.uint(map[byte]int{'K': 1, 'M': 2}[op])
		if err != nil {
			return err
		}
		return p.push(int64(n))
	case 'J': // BININT
		n, err := p.uint(4)
		if err != nil {
			return err
		}
		return p.push(int64(int32(n)))
	case 0x8a: // LONG1
		n, err := p.uint(1)
		if err != nil {
			return err
		}
		b, err := p.take(int(n))
		if err != nil {
			return err
		}
		if len(b) > 8 {
			return p.fail("expected an integer of at most 8 bytes, got %d", len(b))
		}
		var v int64
		for i, x := range b {
			v |= int64(x) << (8 * i)
		}
		if n := len(b); n > 0 && n < 8 && b[n-1]&0x80 != 0 {
			v -= 1 << (8 * n)
		}
		return p.push(v)
	case 'G': // BINFLOAT
		b, err := p.take(8)
		if err != nil {
			return err
		}
		return p.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	size := 4 // BINUNICODE
	if op == 'U' {
		size = 1 // SHORT_BINSTRING
	}
	n, err := p.uint(size)
	if err != nil {
		return err
	}
	b, err := p.take(int(n))
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return p.fail("expected UTF-8 text, got other bytes")
	}
	return p.push(string(b))
}

func (p *unpickler) memoize(op byte) error {
	size := 1
	if op == 'r' || op == 'j' {
		size = 4
	}
	i, err := p.uint(size)
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' { // BINGET
		v, ok := p.memo[i]
		if !ok {
			return p.fail("expected an earlier value under %d, got none", i)
		}
		return p.push(v)
	}
	if len(p.stack) == 0 {
		return p.fail("expected a value to keep, got none")
	}
	p.memo[i] = p.top() // BINPUT
	return nil
}

func (p *unpickler) tuple(op byte) error {
	var items []any
	var err error
	if op == 't' {
		items, err = p.popMark()
	} else {
		items, err = p.popN(int(op) - 0x84)
	}
	if err != nil {
		return err
	}
	return p.push(pickleTuple(items))
}

// fill puts values into the container below them.
func (p *unpickler) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case 'a': // APPEND
		items, err = p.popN(1)
	case 's': // SETITEM
		items, err = p.popN(2)
	default: // APPENDS, SETITEMS
		items, err = p.popMark()
	}
	if err != nil {
		return err
	}
	if op == 'a' || op == 'e' {
		list, ok := p.top().(*pickleList)
		if !ok {
			return p.fail("expected a list to append to, got %T", p.top())
		}
		list.items = append(list.items, items...)
		return nil
	}
	dict, ok := p.top().(*pickleDict)
	if !ok || len(items)%2 != 0 {
		return p.fail("expected a dict and pairs, got %T and %d values", p.top(), len(items))
	}
	for i := 0; i < len(items); i += 2 {
		dict.keys, dict.values = append(dict.keys, items[i]), append(dict.values, items[i+1])
	}
	return nil
}

// global names an object; whether it is allowed, reduce and persistent decide.
func (p *unpickler) global() error {
	names := [2]string{}
	for i := range names {
		n := bytes.IndexByte(p.data[p.pos:], '\n')
		if n < 0 || n > 200 {
			return p.fail("expected the name of a global, got none of at most 200 bytes")
		}
		b, err := p.take(n + 1)
		if err != nil {
			return err
		}
		names[i] = string(b[:n])
	}
	return p.push(pickleGlobal(names[0] + " " + names[1]))
}

// call handles REDUCE and NEWOBJ, which call a global, and BUILD, which sets
// attributes: of an OrderedDict they say nothing about its entries.
func (p *unpickler) call(op byte) error {
	pair, err := p.popN(2)
	if err != nil {
		return err
	}
	if op == 'b' {
		if _, ok := pair[0].(*pickleDict); !ok {
			return p.fail("expected attributes of a dict only, got those of %T", pair[0])
		}
		return p.push(pair[0])
	}
	g, ok := pair[0].(pickleGlobal)
	args, isTuple := pair[1].(pickleTuple)
	if !ok || !isTuple {
		return p.fail("expected a global and its arguments, got %T and %T", pair[0], pair[1])
	}
	v, err := p.reduce(g, args)
	if err != nil {
		return err
	}
	return p.push(v)
}
