package export

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/torchfx-go/torchfx/ir"
)

// The limits on a pickle.
const (
	maxPickle        = 64 << 20 // bytes
	maxPickleOps     = 1 << 24
	maxPickleNesting = 1000 // containers in containers; Python's own recursion ends there
)

// The opcodes that torch.load(weights_only=True) takes, and no others. Source:
// torch/_weights_only_unpickler.py of 2.15.0.
const (
	opMark           = '('
	opStop           = '.'
	opBinFloat       = 'G'
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opBinInt2        = 'M'
	opNone           = 'N'
	opBinPersID      = 'Q'
	opReduce         = 'R'
	opShortBinString = 'U'
	opBinUnicode     = 'X'
	opAppend         = 'a'
	opBuild          = 'b'
	opGlobal         = 'c'
	opAppends        = 'e'
	opBinGet         = 'h'
	opLongBinGet     = 'j'
	opBinPut         = 'q'
	opLongBinPut     = 'r'
	opSetItem        = 's'
	opTuple          = 't'
	opSetItems       = 'u'
	opEmptyDict      = '}'
	opEmptyList      = ']'
	opEmptyTuple     = ')'
	opProto          = 0x80
	opNewObj         = 0x81
	opTuple1         = 0x85
	opTuple2         = 0x86
	opTuple3         = 0x87
	opNewTrue        = 0x88
	opNewFalse       = 0x89
	opLong1          = 0x8a
	opEmptySet       = 0x8f
)

// An unpickler reads one pickle. It is a stack machine that builds plain values;
// nothing in the pickle is ever called: the functions that it names stand in a
// table of what they would make (see picklecall.go).
type unpickler struct {
	text    []byte
	at      int
	stack   []any
	marks   []int // heights of the stack
	memo    []any // by number, as numbers mostly run on from 0
	sparse  map[uint32]any
	ops     int                              // operations that may be done, 0 for maxPickleOps
	budget  int                              // bytes and items that calls may still copy
	storage func(id ir.PyTuple) (any, error) // what a persistent id stands for; nil where none may be
	classes func(name string) bool           // classes that become an Instance
	attrs   map[*ir.PyDict]*ir.PyDict        // attributes of ordered dicts
	f       *faults                          // for warnings
}

// A pyList is a list under construction: the memo may still lead to it.
type pyList struct {
	items []any
	done  []any
}

// unpickle reads the pickle at the start of text and returns its value and how
// long it was.
func (u *unpickler) unpickle(text []byte) (v any, n int, err error) {
	u.text, u.budget = text, len(text)+1024
	u.stack, u.marks, u.memo, u.sparse, u.at = nil, nil, nil, nil, 0
	most := maxPickleOps
	if u.ops > 0 {
		most = min(most, u.ops)
	}
	for range most {
		start := u.at
		op, err := u.byte()
		if err == nil && op == opStop {
			if v, err = u.pop(); err == nil {
				v, err = (&finisher{seen: map[any]bool{}}).finish(v, 0)
			}
			return v, u.at, at(start, err)
		}
		if err == nil {
			err = u.step(op)
		}
		if err != nil {
			return nil, 0, at(start, err)
		}
	}
	return nil, 0, ir.Errorf(ir.ErrFormat, "pickle: expected at most %d operations", most)
}

// at says at which byte of the pickle something was wrong.
func at(byte int, err error) error {
	if err == nil {
		return nil
	}
	return ir.Errorf(ir.ClassOf(err), "pickle, byte %d: %w", byte, err)
}

func (u *unpickler) step(op byte) error {
	switch op {
	case opProto:
		_, err := u.byte()
		return err
	case opMark:
		u.marks = append(u.marks, len(u.stack))
		return nil
	case opGlobal:
		return u.global()
	case opReduce, opNewObj:
		return u.apply(op == opNewObj)
	case opBuild:
		return u.build()
	case opBinPersID:
		return u.persistent()
	case opAppend, opAppends, opSetItem, opSetItems:
		return u.fill(op)
	case opTuple, opTuple1, opTuple2, opTuple3:
		return u.tuple(op)
	case opBinGet, opLongBinGet, opBinPut, opLongBinPut:
		return u.remember(op)
	}
	return u.plain(op)
}

// plain reads the operations that only push a value.
func (u *unpickler) plain(op byte) error {
	switch op {
	case opNone:
		return u.push(nil)
	case opNewTrue, opNewFalse:
		return u.push(op == opNewTrue)
	case opEmptyTuple:
		return u.push(ir.PyTuple{})
	case opEmptyList:
		return u.push(&pyList{})
	case opEmptyDict:
		return u.push(&ir.PyDict{})
	case opEmptySet:
		return u.push(PySet{})
	case opBinInt1, opBinInt2, opBinInt, opBinFloat:
		n := map[byte]int{opBinInt1: 1, opBinInt2: 2, opBinInt: 4, opBinFloat: 8}[op]
		b, err := u.bytes(n)
		if err != nil {
			return err
		}
		switch op {
		case opBinInt1:
			return u.push(int64(b[0]))
		case opBinInt2:
			return u.push(int64(binary.LittleEndian.Uint16(b)))
		case opBinInt:
			return u.push(int64(int32(binary.LittleEndian.Uint32(b))))
		}
		return u.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case opLong1:
		b, err := u.counted(1)
		if err != nil {
			return err
		}
		return u.push(longOf(b))
	case opBinUnicode, opShortBinString:
		width := 1
		if op == opBinUnicode {
			width = 4
		}
		b, err := u.counted(width)
		if err != nil {
			return err
		}
		if !utf8.Valid(b) {
			return ir.Errorf(ir.ErrUnsupported, "expected a string in UTF-8, got other bytes")
		}
		return u.push(string(b))
	}
	return ir.Errorf(ir.ErrUnsupported, "operation 0x%02x is not allowed: expected what torch.save writes (pickle protocol 2)", op)
}

// longOf decodes a little-endian two's complement: an int64, or a *big.Int.
func longOf(b []byte) any {
	be := make([]byte, len(b))
	for i, c := range b {
		be[len(b)-1-i] = c
	}
	n := new(big.Int).SetBytes(be)
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

func (u *unpickler) byte() (byte, error) {
	b, err := u.bytes(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (u *unpickler) bytes(n int) ([]byte, error) {
	if n > len(u.text)-u.at {
		return nil, ir.Errorf(ir.ErrFormat, "expected %d more bytes, got the end", n)
	}
	u.at += n
	return u.text[u.at-n : u.at], nil
}

// counted reads bytes behind their number, which is width bytes wide.
func (u *unpickler) counted(width int) ([]byte, error) {
	b, err := u.bytes(width)
	if err != nil {
		return nil, err
	}
	if width == 1 {
		return u.bytes(int(b[0]))
	}
	n := binary.LittleEndian.Uint32(b)
	if int64(n) > int64(len(u.text)) {
		return nil, ir.Errorf(ir.ErrFormat, "expected a string of at most %d bytes, got one of %d", len(u.text), n)
	}
	return u.bytes(int(n))
}

// line reads to the next end of line.
func (u *unpickler) line() (string, error) {
	n := bytes.IndexByte(u.text[u.at:min(len(u.text), u.at+1024)], '\n')
	if n < 0 {
		return "", ir.Errorf(ir.ErrFormat, "expected the name of a class within 1024 bytes")
	}
	b, err := u.bytes(n + 1)
	return printable(string(b[:n])), err
}

func (u *unpickler) push(v any) error {
	u.stack = append(u.stack, v)
	return nil
}

// floor is the height of the stack at the last mark.
func (u *unpickler) floor() int {
	if len(u.marks) == 0 {
		return 0
	}
	return u.marks[len(u.marks)-1]
}

func (u *unpickler) pop() (any, error) {
	n := len(u.stack) - 1
	if n < u.floor() {
		return nil, ir.Errorf(ir.ErrFormat, "expected a value on the stack, got none")
	}
	v := u.stack[n]
	u.stack = u.stack[:n]
	return v, nil
}

func (u *unpickler) top() (any, error) {
	if len(u.stack) <= u.floor() {
		return nil, ir.Errorf(ir.ErrFormat, "expected a value on the stack, got none")
	}
	return u.stack[len(u.stack)-1], nil
}

// popMark pops what lies above the last mark. The slice is the stack's own.
func (u *unpickler) popMark() ([]any, error) {
	if len(u.marks) == 0 {
		return nil, ir.Errorf(ir.ErrFormat, "expected a mark on the stack, got none")
	}
	floor := u.floor()
	items := u.stack[floor:]
	u.stack, u.marks = u.stack[:floor], u.marks[:len(u.marks)-1]
	return items, nil
}

func (u *unpickler) tuple(op byte) error {
	var items []any
	if op == opTuple {
		var err error
		if items, err = u.popMark(); err != nil {
			return err
		}
	} else {
		n := int(op-opTuple1) + 1
		if len(u.stack)-n < u.floor() {
			return ir.Errorf(ir.ErrFormat, "expected %d values on the stack, got %d", n, len(u.stack)-u.floor())
		}
		items = u.stack[len(u.stack)-n:]
		u.stack = u.stack[:len(u.stack)-n]
	}
	return u.push(append(ir.PyTuple{}, items...))
}

func (u *unpickler) remember(op byte) error {
	width := 1
	if op == opLongBinGet || op == opLongBinPut {
		width = 4
	}
	b, err := u.bytes(width)
	if err != nil {
		return err
	}
	n := uint32(b[0])
	if width == 4 {
		n = binary.LittleEndian.Uint32(b)
	}
	if op == opBinGet || op == opLongBinGet {
		if int64(n) < int64(len(u.memo)) {
			return u.push(u.memo[n])
		}
		v, ok := u.sparse[n]
		if !ok {
			return ir.Errorf(ir.ErrFormat, "expected an entry of the memo, got number %d, which was never stored", n)
		}
		return u.push(v)
	}
	v, err := u.top()
	switch {
	case err != nil:
		return err
	case int64(n) < int64(len(u.memo)):
		u.memo[n] = v
	case int64(n) == int64(len(u.memo)) && u.sparse == nil:
		u.memo = append(u.memo, v)
	default:
		if u.sparse == nil {
			u.sparse = map[uint32]any{}
		}
		u.sparse[n] = v
	}
	return nil
}

// spend takes n bytes or items from what calls may copy: a call of three bytes
// can copy a value that the file has once, again and again.
func (u *unpickler) spend(n int) error {
	if u.budget -= n; u.budget < 0 {
		return ir.Errorf(ir.ErrFormat, "expected values in proportion to the size of the pickle, got copies of copies")
	}
	return nil
}

func (u *unpickler) persistent() error {
	v, err := u.pop()
	if err != nil {
		return err
	}
	id, ok := v.(ir.PyTuple)
	if !ok || u.storage == nil {
		return ir.Errorf(ir.ErrFormat, "expected no persistent id but that of a storage, got %s", pyTypeName(v))
	}
	if v, err = u.storage(id); err != nil {
		return err
	}
	return u.push(v)
}
