package interpreter

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A leafCount is how many values the placeholders of a graph take.
type leafCount struct {
	least, most int // most is -1 where one takes all that are left
	names       []string
}

func leafCountOf(g *ir.Graph) leafCount {
	var c leafCount
	for _, n := range g.Find(ir.Placeholder, nil) {
		c.names = append(c.names, n.Target().String())
		switch {
		case strings.HasPrefix(n.Target().String(), "*"):
			c.most = -1
		case c.most >= 0:
			c.most++
		}
		if c.most >= 0 && len(n.Args()) == 0 {
			c.least = c.most // arguments go by position, so those before it are there as well
		}
	}
	return c
}

// check refuses n values where the placeholders take another number.
func (c *leafCount) check(n int) error {
	if n < c.least {
		return c.refuse(n)
	}
	return c.checkMost(n)
}

// checkMost is check for a run in which the first placeholder that gets no value tells.
func (c *leafCount) checkMost(n int) error {
	if c.most >= 0 && n > c.most {
		return c.refuse(n)
	}
	return nil
}

func (c *leafCount) refuse(n int) error {
	expected := fmt.Sprint(c.least)
	switch {
	case c.most < 0:
		expected = "at least " + expected
	case c.most > c.least:
		expected += fmt.Sprintf(" to %d", c.most)
	}
	if len(c.names) > 0 {
		expected += " (" + strings.Join(c.names, ", ") + ")"
	}
	return ir.Errorf(ir.ErrInput, "inputs: expected %s, got %d", expected, n)
}
