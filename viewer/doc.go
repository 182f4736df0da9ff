// Package viewer draws a graph as one page: a row per node in execution order,
// lanes for the values alive, and the module tree.
//
// State: the signature stands; [Page] answers with an error wrapping
// [ir.ErrUnsupported].
package viewer

import (
	"io"

	"github.com/torchfx-go/torchfx/ir"
)

// Page writes a self-contained HTML page that shows m to w.
func Page(w io.Writer, m *ir.GraphModule) error {
	return ir.Errorf(ir.ErrUnsupported, "viewer: the page is not built yet")
}
