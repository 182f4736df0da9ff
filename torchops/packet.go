package torchops

import (
	_ "embed"
	"errors"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// packetsText holds the order in which Python tries the overloads of an operator;
// scripts/record_packets.py makes it and describes it.
//
//go:embed packets.txt
var packetsText string

// packetOrder maps "aten::sum" to its overloads.
var packetOrder = sync.OnceValue(func() map[string][]string {
	order := map[string][]string{}
	for line := range strings.Lines(packetsText) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			order[words[0]] = words[1:]
		}
	}
	return order
})

// packet returns how torch.ops.<namespace>.<name> is called: by the first overload
// whose schema takes the arguments; nil where there is no such operator.
func packet(f *ir.Func) *implementation {
	namespace, base, _ := strings.Cut(strings.TrimPrefix(f.Name(), "torch.ops."), ".")
	name := namespace + "::" + base
	overloads := overloadsOf(name)
	if len(overloads) == 0 {
		return nil
	}
	return &implementation{name: name, call: func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
		var reasons strings.Builder
		for _, op := range overloads {
			f := ir.OverloadOf(op)
			v, err := Invoke(m, f, args, kw)
			if refused, ok := errors.AsType[*mismatch](err); ok {
				if len(overloads) == 1 {
					return nil, err
				}
				reasons.WriteString(refused.text + "\n\n")
				continue
			}
			return v, err
		}
		return nil, ir.Errorf(ir.ErrRuntime, "Overloaded torch operator invoked from Python failed to match any schema:\n%s", reasons.String())
	}}
}

// overloadsOf lists the overloads of an operator as Python tries them; those of a
// library that PyTorch does not have as they are listed.
func overloadsOf(name string) (ops []string) {
	for _, overload := range packetOrder()[name] {
		op := name
		if overload != "default" {
			op += "." + overload
		}
		if _, err := libtorch.Find(op); err == nil {
			ops = append(ops, op)
		}
	}
	if ops != nil {
		return ops
	}
	live, err := libtorch.Operators()
	if err != nil {
		return nil
	}
	for _, s := range live.Overloads(name) {
		ops = append(ops, s.Op)
	}
	return ops
}
