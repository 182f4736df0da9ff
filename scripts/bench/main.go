// Command bench measures this module against PyTorch and onnxruntime, all in turn
// within one run of the command.
//
//	go run ./scripts/bench [-rounds n]                what an operator costs
//	go run ./scripts/bench -networks all [-load all]  networks; runs from many goroutines
//	go run ./scripts/bench -small                     operators on small tensors, by this module alone
//	go run ./scripts/bench -elements                  what pointwise operators take an element, in eager code and in a Plan
//	go run ./scripts/bench -peak                      the most that one core multiplies and adds
//	go run ./scripts/bench -layers resnet50           what the kernels of a frozen network reach of that
//	go run ./scripts/bench -soak 100000               one plan, 64 goroutines, 50 shapes
//	go run ./scripts/bench -calls 10000000            an operator, 64 goroutines, results left to the collector
//	go run ./scripts/bench -memory resnet50           what a frozen network holds in memory
//
// Operators: a Plan and an Interpreter against a bare C++ loop in the same process and
// against PyTorch from Python. Networks: each executor in a process of its own, see
// package worker; -executors, -batch and -threads choose among them.
//
// It prints Markdown tables; -write FILE.md puts them between the markers of that file
// or of FILE-tables.md, and what they were made of into FILE.json, from which plots are
// drawn and -tables writes the tables again.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	_ "github.com/torchfx-go/torchfx/nn/functional"
)

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command() error {
	chains := flag.Bool("chains", false, "measure what operators cost; the default where nothing else is chosen")
	rounds := flag.Int("rounds", 30, "how often each contender is measured on chains, all in turn")
	networks := flag.String("networks", "", "measure networks: names with commas between, or all")
	networkRounds := flag.Int("network-rounds", 10, "how often each executor runs a network, all in turn")
	load := flag.String("load", "", "measure networks under runs from 1, 2, 8 and 64 goroutines: names, or all")
	who := flag.String("executors", "all", "names with commas between; all; or quick: this module's and Python eager, no compiler")
	batch := flag.String("batch", "1,8", "sizes of batches of networks")
	threads := flag.String("threads", "1,2", "numbers of threads that one run of a network may use")
	write := flag.String("write", "", "file whose sections between the markers are replaced")
	resume := flag.Bool("resume", false, "leave out cells of networks that the JSON beside -write has of each executor")
	small := flag.Bool("small", false, "measure instead what operators on small tensors cost this module's executors")
	elements := flag.Bool("elements", false, "measure instead what pointwise operators take an element, in eager code and in a Plan")
	most := flag.Bool("peak", false, "measure instead what one core multiplies and adds at most")
	layers := flag.String("layers", "", "measure instead the kernels of this network's regions on oneDNN, frozen, against that")
	soaked := flag.Int("soak", 0, "run one plan so often from 64 goroutines instead, and watch memory and threads")
	calls := flag.Int("calls", 0, "call an operator so often from 64 goroutines instead, and watch memory and threads")
	footprint := flag.String("memory", "", "tell instead what this network, frozen, holds in memory, stage after stage")
	memoryRuns := flag.Int("memory-runs", 1000, "for -memory: how often the network runs, in four parts")
	choices := flag.String("choices", "", "for -memory: file of measured choices that Freeze takes and completes")
	tables := flag.String("tables", "", "measure nothing: write the tables of this file again, from the JSON beside it")
	serve := flag.String("worker", "", "be the worker of this executor, for the folder given")
	flag.Parse()
	if *serve == "" {
		n := numbers{"rounds": {*rounds, 1}, "network-rounds": {*networkRounds, 1}, "soak": {*soaked, 0}, "calls": {*calls, 0}}
		if err := checkFlags(flag.Args(), n, map[string]string{"write": *write, "tables": *tables}, *resume); err != nil {
			return err
		}
	}
	if *tables != "" {
		r, err := readResults(*tables)
		if err != nil {
			return err
		}
		return r.replaceSections(*tables)
	}
	if err := libtorch.Open(); err != nil {
		return err
	}
	if *soaked > 0 {
		return soak(*soaked)
	}
	if *calls > 0 {
		return soakCalls(*calls)
	}
	if *footprint != "" {
		folder, err := exported(*footprint)
		if err != nil {
			return err
		}
		return measureMemory(folder, *choices, *memoryRuns)
	}
	counts := map[string][]int{}
	for name, list := range map[string]string{"batch": *batch, "threads": *threads} {
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("-%s: expected numbers with commas between, got %q", name, list)
			}
			counts[name] = append(counts[name], n)
		}
	}
	if *serve != "" {
		return serveNetwork(flag.Arg(0), *serve, counts["threads"][0])
	}
	g := &grid{batch: counts["batch"], threads: counts["threads"], rounds: *networkRounds}
	var err error
	if g.executors, err = executorsOf(*who); err != nil {
		return err
	}
	spelled := "go run ./scripts/bench " + strings.Join(os.Args[1:], " ")
	switch {
	case *small:
		table, err := measureSmall(*rounds, spelled)
		return show(table, err, *write, " -small")
	case *elements:
		table, err := measureElements(*rounds, spelled)
		return show(table, err, *write, " -elements")
	case *most:
		table, err := measurePeak(*rounds, spelled)
		return show(table, err, *write, " -peak")
	case *layers != "":
		table, err := measureLayers(*layers, *rounds, spelled)
		return show(table, err, *write, " -layers "+*layers)
	}
	r := &results{}
	var failed error // of networks: the others count all the same
	if *chains || *networks == "" && *load == "" {
		if r.Chains, err = measureChains(*rounds, *who != "quick"); err != nil {
			return err
		}
		r.Chains.Command = spelled
		fmt.Print(r.Chains.table())
	}
	if *networks != "" {
		if g.networks, err = chosen(*networks, networkNames); err != nil {
			return err
		}
		if *resume {
			if g.before, err = readResults(*write); err != nil {
				return err
			}
		}
		report := &networkReport{Machine: machineNow(), Command: spelled}
		r.Networks = append(r.Networks, report)
		failed = errors.Join(failed, g.measureNetworks(report, func() error {
			if *write == "" {
				return nil
			}
			return r.save(*write)
		}))
		fmt.Print(report.table())
	}
	if *load != "" {
		if g.networks, err = chosen(*load, networkNames); err != nil {
			return err
		}
		r.Load, err = g.measureLoad()
		failed = errors.Join(failed, err)
		r.Load.Command = spelled
		fmt.Print(r.Load.table())
	}
	if *write == "" {
		return failed
	}
	return errors.Join(failed, r.write(*write))
}

// show prints a table and puts it between the markers of a file, if there is one.
func show(table string, err error, file, flags string) error {
	fmt.Print(table)
	if err != nil || file == "" {
		return err
	}
	return replaceSection(file, flags, table)
}
