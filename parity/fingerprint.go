package parity

import (
	"fmt"
	"hash/maphash"

	torchfx "github.com/torchfx-go/torchfx"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// fingerprints are sums over all tensors that a run could change.
type fingerprints struct {
	names  []string // of state, in order
	state  map[string]fingerprint
	inputs map[int]fingerprint
}

type fingerprint struct {
	tensor *torch.Tensor
	sum    uint64
}

var hashSeed = maphash.MakeSeed()

func fingerprintOf(t *torch.Tensor) (fingerprint, error) {
	data, err := t.Bytes()
	return fingerprint{t, maphash.Bytes(hashSeed, data)}, err
}

// fingerprintsOf takes them before a run.
func fingerprintsOf(p *torchfx.Program, inputs []any) (fingerprints, error) {
	f := fingerprints{state: map[string]fingerprint{}, inputs: map[int]fingerprint{}}
	for name, t := range p.State() {
		sum, err := fingerprintOf(t)
		if err != nil {
			return f, fmt.Errorf("state %s: %w", name, err)
		}
		f.names = append(f.names, name)
		f.state[name] = sum
	}
	for i, v := range inputs {
		if t, ok := v.(*torch.Tensor); ok {
			sum, err := fingerprintOf(t)
			if err != nil {
				return f, fmt.Errorf("input %d: %w", i, err)
			}
			f.inputs[i] = sum
		}
	}
	return f, nil
}
