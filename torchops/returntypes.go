package torchops

import (
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// A returnName is an item of the results of operators that Python returns as a
// torch.return_types class: by their number and a name.
type returnName struct {
	results int
	name    string
}

// returnNames maps the names to positions, by the operators of PyTorch itself. A
// tuple does not say which operator made it; a name that stands at different
// places in results of one number, as U does in those of svd and lu_unpack, is -1.
var returnNames = sync.OnceValue(func() map[returnName]int {
	names := map[returnName]int{}
	for schema := range ir.Operators().All() {
		if !strings.HasPrefix(schema.Op, "aten::") || len(schema.Returns) < 2 {
			continue
		}
		for i, r := range schema.Returns {
			key := returnName{len(schema.Returns), r.Name}
			if at, known := names[key]; known && at != i {
				names[key] = -1
			} else if r.Name != "" {
				names[key] = i
			}
		}
	}
	return names
})

// returnItem is the attribute of a tuple of results: max(x, 0).values.
func returnItem(items []any, name string) (any, bool) {
	i, ok := returnNames()[returnName{len(items), name}]
	if !ok || i < 0 {
		return nil, false
	}
	return items[i], true
}
