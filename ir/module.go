package ir

// A GraphModule is a graph and the attributes that its targets name. Attributes
// are opaque here: tensors, modules, blobs of a file, or graph modules. Running
// one is the interpreter's, saving it the export package's.
type GraphModule struct {
	graph *Graph
	attrs *attrs
	class string
	meta  Meta
}

func (m *GraphModule) created(*Node) {}
func (m *GraphModule) erased(*Node)  {}

type attrs struct{}

func nodeNames(ns []*Node) string {
	s := ""
	for i, n := range ns {
		if i > 0 {
			s += ", "
		}
		s += n.name
	}
	return s
}
