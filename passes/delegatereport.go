package passes

import "fmt"

// A Delegation is what became of one region, by names of nodes that were in the graph
// before.
type Delegation struct {
	Path    string   // of the region; "" where it was left to libtorch
	Nodes   []string // what it computes
	Why     string   // why it was left, or what was measured
	Kernels string   // what the delegate says of it
}

// String tells what became of the region, in a line.
func (d *Delegation) String() string {
	if d.Path == "" {
		return d.nodes() + " left: " + d.Why
	}
	return d.Path + ": " + d.what()
}

// nodes names the first and the last of them.
func (d *Delegation) nodes() string {
	switch n := len(d.Nodes); n {
	case 1:
		return d.Nodes[0]
	case 2:
		return d.Nodes[0] + ", " + d.Nodes[1]
	default:
		return fmt.Sprintf("%d nodes from %s to %s", n, d.Nodes[0], d.Nodes[n-1])
	}
}

// what tells what a region computes and how fast.
func (d *Delegation) what() string {
	text := d.nodes()
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}
