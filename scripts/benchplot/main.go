// Command benchplot draws the results of scripts/bench as SVG files beside them. It is
// a module of its own, so that nobody else depends on gonum.org/v1/plot.
//
//	benchplot docs/performance.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// results are the fields of scripts/bench's that are drawn.
type results struct {
	Chains *struct {
		Chains []struct {
			Title string
			Rows  []struct {
				Name            string
				Minimum, Median float64
			}
		}
	}
	Networks []struct {
		Results []struct {
			Network, Executor, Title string
			Batch, Threads           int
			CPU                      struct{ Minimum float64 } `json:"cpu_ms"`
		}
	}
	Load *struct {
		Results []struct {
			Network, Title string
			Goroutines     int
			PerSecond      float64 `json:"runs_per_second"`
			P99            float64 `json:"p99_ms"`
		}
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchplot:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: benchplot RESULTS.json")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var r results
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	base := strings.TrimSuffix(args[0], ".json")
	if r.Chains != nil {
		if err := r.chains(base + "-chains.svg"); err != nil {
			return err
		}
	}
	if r.Networks != nil {
		if err := r.networks(base + "-networks.svg"); err != nil {
			return err
		}
	}
	if r.Load != nil {
		return r.load(base + "-load.svg")
	}
	return nil
}

// palette tells ten series apart, by those with any colour vision.
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{0, 158, 115, 255}, color.RGBA{153, 153, 51, 255}, color.RGBA{240, 228, 66, 255},
	color.RGBA{230, 159, 0, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{204, 121, 167, 255}, color.RGBA{136, 34, 85, 255}, color.RGBA{102, 102, 102, 255},
}

// every marks the multiples of a step.
type every float64

func (e every) Ticks(least, most float64) (ticks []plot.Tick) {
	for v := math.Ceil(least/float64(e)) * float64(e); v <= most; v += float64(e) {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', -1, 64)})
	}
	return ticks
}

// bars draws values by group and series, side by side. A value of 0 was not measured.
func bars(p *plot.Plot, groups, series []string, value func(group, series string) float64) error {
	width := vg.Points(400 / float64(len(groups)*(len(series)+1)))
	for i, s := range series {
		var values plotter.Values
		for _, g := range groups {
			values = append(values, value(g, s))
		}
		chart, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		chart.Color, chart.LineStyle.Width = palette[i%len(palette)], 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(series)-1)/2)
		p.Add(chart)
		p.Legend.Add(s, chart)
	}
	p.Legend.Top = true
	p.NominalX(groups...)
	p.Y.Min = 0
	return nil
}

// chains draws nanoseconds an operator: the least of
// each contender.
func (r *results) chains(file string) error {
	c := r.Chains.Chains[0]
	p := plot.New()
	p.Title.Text = c.Title
	p.X.Label.Text = "ns of CPU time an operator, minimum"
	var names []string
	var values plotter.Values
	for _, row := range slices.Backward(c.Rows) {
		names, values = append(names, row.Name), append(values, row.Minimum)
	}
	chart, err := plotter.NewBarChart(values, vg.Points(14))
	if err != nil {
		return err
	}
	chart.Horizontal, chart.Color, chart.LineStyle.Width = true, palette[0], 0
	p.Add(chart)
	labels := plotter.XYLabels{}
	for i, v := range values {
		labels.XYs = append(labels.XYs, plotter.XY{X: v, Y: float64(i)})
		labels.Labels = append(labels.Labels, fmt.Sprintf(" %.0f", v))
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return err
	}
	p.Add(text)
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, 1.1*slices.Max(values)
	p.X.Tick.Marker = every(1000)
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	return p.Save(22*vg.Centimeter, 9*vg.Centimeter, file)
}

// networks draws CPU time against Python eager's, at batch 1 and one thread.
func (r *results) networks(file string) error {
	var groups, series []string
	at, eager := map[[2]string]float64{}, map[string]float64{}
	for _, run := range r.Networks {
		for _, m := range run.Results {
			if m.Batch != 1 || m.Threads != 1 {
				continue
			}
			at[[2]string{m.Network, m.Title}] = m.CPU.Minimum
			if m.Executor == "eager" {
				eager[m.Network] = m.CPU.Minimum
			}
			if !slices.Contains(groups, m.Network) {
				groups = append(groups, m.Network)
			}
			if !slices.Contains(series, m.Title) {
				series = append(series, m.Title)
			}
		}
	}
	if groups == nil {
		return nil
	}
	p := plot.New()
	p.Title.Text = "CPU time of a run against Python eager's, batch 1, one thread"
	p.Y.Label.Text = "minimum / eager's minimum"
	p.Add(plotter.NewGrid())
	err := bars(p, groups, series, func(group, series string) float64 {
		if eager[group] == 0 {
			return 0
		}
		return at[[2]string{group, series}] / eager[group]
	})
	if err != nil {
		return err
	}
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	p.Y.Max = math.Ceil(2*p.Y.Max)/2 + 1 // room for the legend
	p.Y.Tick.Marker = every(0.5)
	return p.Save(24*vg.Centimeter, 12*vg.Centimeter, file)
}

// load draws runs a second, and below the latency that one run in a hundred exceeds,
// over goroutines.
func (r *results) load(file string) error {
	rate, latency := plot.New(), plot.New()
	rate.Title.Text = "Runs from many goroutines, batch 1, one thread a run"
	rate.Y.Label.Text, latency.Y.Label.Text = "runs a second", "p99 in ms"
	latency.X.Label.Text = "goroutines"
	latency.Y.Scale, latency.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	var names []string
	rates, latencies := map[string]plotter.XYs{}, map[string]plotter.XYs{}
	for _, x := range r.Load.Results {
		name := x.Network + ": " + x.Title
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		rates[name] = append(rates[name], plotter.XY{X: float64(x.Goroutines), Y: x.PerSecond})
		latencies[name] = append(latencies[name], plotter.XY{X: float64(x.Goroutines), Y: x.P99})
	}
	for _, p := range []*plot.Plot{rate, latency} {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{{Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 8, Label: "8"}, {Value: 64, Label: "64"}}
		p.Add(plotter.NewGrid())
	}
	for i, name := range names {
		for p, values := range map[*plot.Plot]plotter.XYs{rate: rates[name], latency: latencies[name]} {
			line, points, err := plotter.NewLinePoints(values)
			if err != nil {
				return err
			}
			line.Color, points.Color = palette[i%len(palette)], palette[i%len(palette)]
			p.Add(line, points)
			if p == rate {
				p.Legend.Add(name, line, points)
			}
		}
	}
	rate.Legend.Top = true
	rate.Y.Min = 0
	rate.Y.Max *= 1.8 // room for the legend
	picture := vgsvg.New(22*vg.Centimeter, 20*vg.Centimeter)
	canvases := plot.Align([][]*plot.Plot{{rate}, {latency}}, draw.Tiles{Rows: 2, Cols: 1, PadY: vg.Centimeter}, draw.New(picture))
	rate.Draw(canvases[0][0])
	latency.Draw(canvases[1][0])
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = picture.WriteTo(out)
	return errors.Join(err, out.Close())
}
