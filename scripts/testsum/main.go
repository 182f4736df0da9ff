// Command testsum reads what `go test -json` writes and says what people want to
// know of it: a line a package, the output of tests that failed, the reasons of
// tests that were skipped, and at the end one line of counts:
//
//	go test -json ./... | testsum NAME
//	NAME: 812 passed, 0 failed, 3 skipped
//
// Subtests are counted, their parents not. The exit code is 1 when something
// failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// An event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

func main() {
	name := "tests"
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	if !summarize(os.Stdin, os.Stdout, name) {
		os.Exit(1)
	}
}

type test struct{ pkg, name string }

// summarize reports whether all passed and at least one package was there.
func summarize(r io.Reader, w io.Writer, name string) bool {
	var (
		output                  = map[test][]string{}
		parent                  = map[test]bool{}
		passed, failed, skipped int
		packages, bad           int
	)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(w, string(line)) // not of go test: pass it on
				continue
			}
			t := test{e.Package, e.Test}
			switch e.Action {
			case "build-output":
				fmt.Fprint(w, e.Output)
			case "output":
				output[t] = append(output[t], e.Output)
			case "run":
				if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
					parent[test{e.Package, e.Test[:i]}] = true
				}
			case "pass", "fail", "skip":
				if e.Test == "" {
					packages++
					if e.Action == "fail" {
						bad++
						fmt.Fprint(w, strings.Join(output[t], ""))
					}
					fmt.Fprintf(w, "%-4s  %s  %.1fs\n", map[string]string{"pass": "ok", "fail": "FAIL", "skip": "none"}[e.Action], e.Package, e.Elapsed)
					break
				}
				leaf := !parent[t]
				switch {
				case e.Action == "fail":
					fmt.Fprint(w, strings.Join(output[t], ""))
					if leaf {
						failed++
					}
				case e.Action == "skip":
					skipped++
					fmt.Fprintf(w, "skip  %s %s: %s\n", e.Package, e.Test, reason(output[t]))
				case leaf:
					passed++
				}
				delete(output, t)
			}
		}
		if err != nil {
			break
		}
	}
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d skipped\n", name, passed, failed, skipped)
	return packages > 0 && bad == 0 && failed == 0
}

// reason is the text of t.Skip among the output of a test.
func reason(lines []string) string {
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			if _, text, ok := strings.Cut(line, ".go:"); ok {
				_, text, _ = strings.Cut(text, ": ")
				return text
			}
			return line
		}
	}
	return "no reason given"
}
