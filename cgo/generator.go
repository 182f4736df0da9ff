package libtorch

// #include "trampoline.h"
import "C"

import (
	"github.com/torchfx-go/torchfx/ir"
)

// A Generator is a source of random numbers on the CPU, to be given to operators
// whose schema takes one. It draws the numbers of torch.Generator with the same
// seed. Calls that draw from one generator at once take turns, in no set order.
type Generator struct{ handle }

// An Object is a value that only libtorch understands: a packed weight, a storage,
// a stream, a process group. It goes back into operators that take its type.
type Object struct {
	handle
	name string
}

// TypeName names the type: "__torch__.torch.classes.quantized.Conv2dPackedParamsBase".
func (o *Object) TypeName() string { return o.name }

// ptr is handle's, for a nil generator too.
func (g *Generator) ptr() (uint64, bool) {
	if g == nil {
		return 0, false
	}
	return g.handle.ptr()
}

func newGenerator(impl uint64) *Generator {
	g := new(Generator)
	g.own(remains{impl: impl, kind: kindGenerator})
	return g
}

func newObject(impl uint64, name string) *Object {
	o := &Object{name: name}
	o.own(remains{impl: impl, kind: kindObject})
	return o
}

// NewGenerator makes a CPU generator with a seed.
func NewGenerator(seed uint64) (*Generator, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	var r reply
	if code := C.tfx_generator_new(C.uint64_t(seed), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	return newGenerator(r.words[1]), nil
}

func closedGenerator() error { return ir.Errorf(ir.ErrClosed, "generator: it is closed") }

// SetSeed starts the generator anew from a seed.
func (g *Generator) SetSeed(seed uint64) error {
	p, ok := g.ptr()
	if !ok {
		return closedGenerator()
	}
	defer g.unuse()
	var r reply
	if code := C.tfx_generator_seed(C.uint64_t(p), C.uint64_t(seed), r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}

// Seed returns the seed it was started from.
func (g *Generator) Seed() (uint64, error) {
	p, ok := g.ptr()
	if !ok {
		return 0, closedGenerator()
	}
	defer g.unuse()
	var r reply
	if code := C.tfx_generator_get_seed(C.uint64_t(p), r.w(), replyWords, &r.out); code != 0 {
		return 0, r.fail("", code)
	}
	return r.words[0], nil
}

// State returns the generator's state as a tensor of bytes, as torch.Generator's
// get_state does.
func (g *Generator) State() (*Tensor, error) {
	p, ok := g.ptr()
	if !ok {
		return nil, closedGenerator()
	}
	defer g.unuse()
	return generatorState(p)
}

// SetState takes over a state that State returned.
func (g *Generator) SetState(state *Tensor) error {
	p, ok := g.ptr()
	if !ok {
		return closedGenerator()
	}
	defer g.unuse()
	return setGeneratorState(p, state)
}

// ManualSeed seeds the default generators of all devices, as torch.manual_seed
// does. They are the process's: operators on other goroutines draw from them too.
func ManualSeed(seed uint64) error {
	if err := Open(); err != nil {
		return err
	}
	var r reply
	if code := C.tfx_generator_seed(0, C.uint64_t(seed), r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}

// RNGState returns the state of the CPU's default generator, as
// torch.get_rng_state does.
func RNGState() (*Tensor, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	return generatorState(0)
}

// SetRNGState sets the state of the CPU's default generator.
func SetRNGState(state *Tensor) error {
	if err := Open(); err != nil {
		return err
	}
	return setGeneratorState(0, state)
}

func generatorState(g uint64) (*Tensor, error) {
	var r reply
	return r.tensor("", C.tfx_generator_state(C.uint64_t(g), r.w(), replyWords, &r.out))
}

func setGeneratorState(g uint64, state *Tensor) error {
	p, ok := state.ptr()
	if !ok {
		return closedError("set the state of a generator")
	}
	defer state.unuse()
	var r reply
	if code := C.tfx_generator_set_state(C.uint64_t(g), C.uint64_t(p), r.w(), replyWords, &r.out); code != 0 {
		return r.fail("", code)
	}
	return nil
}
