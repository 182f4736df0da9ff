package parity

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteResult writes the line of a case, and below it, indented, the messages of
// its refusals and its faults. Values that differ are [WriteReport]'s.
func WriteResult(w io.Writer, r Result) error {
	note := r.Note
	if n := len(r.Diffs); n > 0 {
		note = plural(n, "value") + " of " + note + " differ"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %s", r.Status+":", r.Case)
	if note != "" {
		fmt.Fprintf(&b, ": %s", note)
	}
	b.WriteByte('\n')
	for _, s := range r.Told {
		writeIndented(&b, "  said: ", s)
	}
	for _, s := range r.Faults {
		writeIndented(&b, "  wrong: ", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeIndented writes a text of several lines under a heading.
func writeIndented(b *strings.Builder, heading, text string) {
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			heading = strings.Repeat(" ", len(heading))
		}
		b.WriteString(strings.TrimRight(heading+line, " ") + "\n")
	}
}

// WriteReport writes the table of all values that differ, if any, and the
// closing line "N passed, N failed, N skipped".
func WriteReport(w io.Writer, r *Report) error {
	if err := writeTable(w, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s\n%d passed, %d failed, %d skipped\n",
		r.Took.Round(time.Millisecond), r.Count(Passed), r.Count(Failed), r.Count(Skipped))
	return err
}

func writeTable(w io.Writer, r *Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows := 0
	for _, res := range r.Results {
		for _, d := range res.Diffs {
			if rows++; rows == 1 {
				fmt.Fprintln(t, "\ncase\tset\tvalue\tmax abs\tmax rel\tulps\telements\tmade by\tfirst node that differs")
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", res.Case, d.Set, d.Value,
				d.cell(number(d.MaxAbs)), d.cell(number(d.MaxRel)), d.cell(steps(d.ULPs)),
				d.elements(), dash(d.Node), dash(d.First))
		}
	}
	if rows > 0 {
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// cell is a column of numbers, empty where something else than numbers differs.
func (d Diff) cell(s string) string {
	if d.Problem != "" {
		return "-"
	}
	return s
}

func (d Diff) elements() string {
	if d.Problem != "" {
		return d.Problem
	}
	return fmt.Sprintf("%d of %d", d.Outside, d.Total)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// steps writes a distance in units in the last place; beyond a quadrillion it
// says no more than that an element is of another kind.
func steps(n uint64) string {
	if n > 1e15 {
		return ">1e15"
	}
	return strconv.FormatUint(n, 10)
}

// MarshalJSON writes numbers that JSON does not have as texts, "Infinity".
func (d Diff) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Set      int    `json:"set"`
		Value    string `json:"value"`
		Problem  string `json:"problem,omitempty"`
		MaxAbs   any    `json:"max_abs"`
		MaxRel   any    `json:"max_rel"`
		ULPs     uint64 `json:"ulps"`
		Outside  int    `json:"elements_outside"`
		Elements int    `json:"elements"`
		Node     string `json:"node,omitempty"`
		First    string `json:"first_node,omitempty"`
	}{d.Set, d.Value, d.Problem, finite(d.MaxAbs), finite(d.MaxRel), d.ULPs, d.Outside, d.Total, d.Node, d.First})
}

func finite(x float64) any {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return "Infinity"
	}
	return x
}

// MarshalJSON writes the results with their counts.
func (r *Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Passed  int      `json:"passed"`
		Failed  int      `json:"failed"`
		Skipped int      `json:"skipped"`
		Took    int64    `json:"took_ns"`
		Results []Result `json:"results"`
	}{r.Count(Passed), r.Count(Failed), r.Count(Skipped), int64(r.Took), r.Results})
}
