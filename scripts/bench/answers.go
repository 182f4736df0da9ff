package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// rivals are the executors that somebody who chooses one compares.
var rivals = []string{"plan", "eager", "compile", "go-aoti", "aoti", "onnxruntime"}

// answers is the table that is read first: of every network that was frozen, how long
// a run takes and how many times as long each rival takes, by the least wall time,
// with the geometric mean of each size of batch and number of threads.
func (r *results) answers() string {
	wall := map[cell]map[string]float64{}
	var cells []cell
	for _, n := range r.Networks {
		for _, m := range n.Results {
			if wall[m.cell] == nil {
				wall[m.cell] = map[string]float64{}
				cells = append(cells, m.cell)
			}
			wall[m.cell][m.Executor] = m.Wall.Minimum
		}
	}
	cells = slices.DeleteFunc(cells, func(c cell) bool { return wall[c][executors[0].name] == 0 })
	if len(cells) == 0 {
		return ""
	}
	slices.SortFunc(cells, func(a, b cell) int {
		if a.Batch != b.Batch {
			return a.Batch - b.Batch
		}
		if a.Threads != b.Threads {
			return a.Threads - b.Threads
		}
		return slices.Index(networkNames, a.Network) - slices.Index(networkNames, b.Network)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "| network | batch | threads | %s, ms |", executors[0].title)
	for _, name := range rivals {
		fmt.Fprintf(&b, " %s |", executors[slices.IndexFunc(executors, func(e executor) bool { return e.name == name })].title)
	}
	b.WriteString("\n" + strings.Repeat("|---", len(rivals)+4) + "|\n")
	for i, c := range cells {
		row := wall[c]
		fmt.Fprintf(&b, "| %s | %d | %d | %.1f |", c.Network, c.Batch, c.Threads, row[executors[0].name])
		for _, name := range rivals {
			b.WriteString(timesAsFast(row[name] / row[executors[0].name]))
		}
		b.WriteString("\n")
		if i+1 < len(cells) && cells[i+1].Batch == c.Batch && cells[i+1].Threads == c.Threads {
			continue
		}
		fmt.Fprintf(&b, "| *mean* | %d | %d | |", c.Batch, c.Threads)
		for _, name := range rivals {
			sum, n := 0., 0
			for _, x := range cells {
				if other := wall[x][name]; x.Batch == c.Batch && x.Threads == c.Threads && other != 0 {
					sum += math.Log(other / wall[x][executors[0].name])
					n++
				}
			}
			if n == 0 {
				b.WriteString(timesAsFast(0))
				continue
			}
			b.WriteString(timesAsFast(math.Exp(sum / float64(n))))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// timesAsFast is a field of the table: bold where the other is the faster one by more
// than such figures differ from run to run, a dash where it was not measured.
func timesAsFast(ratio float64) string {
	if ratio == 0 {
		return " - |"
	}
	if ratio < 0.95 {
		return fmt.Sprintf(" **%.2f** |", ratio)
	}
	return fmt.Sprintf(" %.2f |", ratio)
}
