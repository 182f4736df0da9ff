package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// results is the file that plots are drawn from: what each part of the benchmark
// measured last. Networks have a report for each run of the command that measured a
// cell last, since all of them take hours.
type results struct {
	Chains   *chainReport     `json:"chains,omitempty"`
	Networks []*networkReport `json:"networks,omitempty"`
	Load     *loadReport      `json:"load,omitempty"`
}

// A chainReport is what operators cost.
type chainReport struct {
	Command string        `json:"command"`
	Machine string        `json:"machine"`
	Chains  []chainResult `json:"chains"`
}

type chainResult struct {
	Title string     `json:"title"`
	Rows  []chainRow `json:"rows"`
	Aims  []aim      `json:"aims,omitempty"`
}

// A chainRow is nanoseconds of processor time an operator.
type chainRow struct {
	Name string `json:"name"`
	spread
}

// jsonBeside is the file with what the tables of a Markdown file were made of.
func jsonBeside(file string) string { return strings.TrimSuffix(file, ".md") + ".json" }

// readResults reads what was measured before; nothing where there is no such file.
func readResults(file string) (*results, error) {
	r := &results{}
	data, err := os.ReadFile(jsonBeside(file))
	if err == nil {
		err = json.Unmarshal(data, r)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return r, nil
}

// has reports whether a cell of networks was measured with each of the executors.
func (r *results) has(c cell, executors []executor) bool {
	if r == nil {
		return false
	}
	missing := map[string]bool{}
	for _, e := range executors {
		missing[e.name] = true
	}
	for _, n := range r.Networks {
		for _, m := range n.Results {
			if m.cell == c {
				delete(missing, m.Executor)
			}
		}
	}
	return len(missing) == 0
}

// write saves what was measured and draws the plots.
func (r *results) write(file string) error {
	if err := r.save(file); err != nil {
		return err
	}
	return plot(jsonBeside(file))
}

// save puts what was measured between the markers of a Markdown file and, with what
// was measured before, into the JSON beside it.
func (r *results) save(file string) error {
	before, err := readResults(file)
	if err != nil {
		return err
	}
	all := *r
	all.Networks = slices.Clone(r.Networks)
	all.keep(before)
	r = &all
	if err := r.replaceSections(file); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(jsonBeside(file), append(data, '\n'), 0o644)
}

// keep adds what was measured before and not again.
func (r *results) keep(before *results) {
	if r.Chains == nil {
		r.Chains = before.Chains
	}
	if r.Load == nil {
		r.Load = before.Load
	}
	again := map[cell]bool{}
	for _, n := range r.Networks {
		for _, m := range n.Results {
			again[m.cell] = true
		}
	}
	for _, old := range before.Networks {
		old.Results = slices.DeleteFunc(old.Results, func(m measurement) bool { return again[m.cell] })
		if len(old.Results) > 0 {
			r.Networks = append(r.Networks, old)
		}
	}
}

// plot draws the pictures beside the results.
func plot(name string) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	draw := exec.Command("go", "run", ".", path)
	draw.Dir = filepath.Join("scripts", "benchplot")
	draw.Stdout, draw.Stderr = os.Stdout, os.Stderr
	if err := draw.Run(); err != nil {
		return fmt.Errorf("scripts/benchplot: %w", err)
	}
	return nil
}

func (r *chainReport) table() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; nanoseconds of CPU time an operator, one thread, no gradients.\n", r.Machine, r.Command)
	for _, c := range r.Chains {
		fmt.Fprintf(&b, "\n%s:\n\n| | minimum | median | minimum against Plan |\n|---|---|---|---|\n", c.Title)
		for _, x := range c.Rows {
			fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f |\n", x.Name, x.Minimum, x.Median, x.Minimum/c.minimum("Plan"))
		}
		c.tableOfAims(&b)
	}
	return b.String()
}

// tableOfAims writes what was reached of what was aimed at, by those that were measured.
func (c chainResult) tableOfAims(b *strings.Builder) {
	head := "\n| | times as fast, of minima | of medians | aim |\n|---|---|---|---|\n"
	for _, a := range c.Aims {
		slow, fast := c.row(a.Slow), c.row(a.Fast)
		if slow == nil || fast == nil {
			continue
		}
		fmt.Fprintf(b, "%s| %s against %s | %.2f | %.2f | %.2f |\n", head, a.Fast, a.Slow, slow.Minimum/fast.Minimum, slow.Median/fast.Median, a.Aim)
		head = ""
	}
}

func (c chainResult) row(name string) *chainRow {
	for i := range c.Rows {
		if c.Rows[i].Name == name {
			return &c.Rows[i]
		}
	}
	return nil
}

func (c chainResult) minimum(name string) float64 {
	for _, x := range c.Rows {
		if x.Name == name {
			return x.Minimum
		}
	}
	return 0
}

func (r *networkReport) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; %s.\n", r.Machine, r.Command, strings.Join(r.Versions, ", "))
	for _, t := range []struct {
		title string
		cell  func(m, first measurement) string
	}{
		{"CPU time a run in milliseconds, minimum / median · minimum against the first column's", func(m, first measurement) string { return m.CPU.against(first.CPU) }},
		{"Wall time a run in milliseconds, minimum / median · minimum against the first column's", func(m, first measurement) string { return m.Wall.against(first.Wall) }},
		{"Peak memory in MB, above what was resident before the network was loaded", func(m, _ measurement) string { return fmt.Sprintf("%.0f", m.Peak) }},
		{"Largest difference from Python's eager results, relative to the largest magnitude", func(m, _ measurement) string { return fmt.Sprintf("%.1g", m.Difference) }},
	} {
		fmt.Fprintf(&b, "\n%s:\n\n", t.title)
		r.grid(&b, t.cell)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	return b.String()
}

func (s spread) against(first spread) string {
	return fmt.Sprintf("%.1f / %.1f · %.2f", s.Minimum, s.Median, s.Minimum/first.Minimum)
}

// grid writes a table with a row for each cell and a column for each executor.
func (r *networkReport) grid(b *strings.Builder, text func(m, first measurement) string) {
	found := map[cell]map[string]measurement{}
	var rows []cell
	used := map[string]bool{}
	for _, m := range r.Results {
		if found[m.cell] == nil {
			found[m.cell] = map[string]measurement{}
			rows = append(rows, m.cell)
		}
		found[m.cell][m.Executor] = m
		used[m.Executor] = true
	}
	var columns []executor
	for _, e := range executors {
		if used[e.name] {
			columns = append(columns, e)
		}
	}
	b.WriteString("| network | batch | threads |")
	for _, e := range columns {
		fmt.Fprintf(b, " %s |", e.title)
	}
	fmt.Fprintf(b, "\n|---|---|---|%s\n", strings.Repeat("---|", len(columns)))
	for _, c := range rows {
		fmt.Fprintf(b, "| %s | %d | %d |", c.Network, c.Batch, c.Threads)
		for _, e := range columns {
			m, ok := found[c][e.name]
			first, both := found[c][columns[0].name]
			if !ok || !both {
				b.WriteString(" - |")
				continue
			}
			fmt.Fprintf(b, " %s |", text(m, first))
		}
		b.WriteString("\n")
	}
}

func (r *loadReport) table() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; batch 1, one thread a run; the best round of each.\n\n", r.Machine, r.Command)
	b.WriteString("| network | goroutines | | runs a second | p50 ms | p99 ms |\n|---|---|---|---|---|---|\n")
	for _, x := range r.Results {
		fmt.Fprintf(&b, "| %s | %d | %s | %.1f | %.1f | %.1f |\n", x.Network, x.Goroutines, x.Title, x.PerSecond, x.P50, x.P99)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	return b.String()
}
