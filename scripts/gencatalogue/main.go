// Command gencatalogue writes the catalogue of operators that package ir embeds
// from the libtorch that is set up.
//
//	go run ./scripts/gencatalogue                          # writes ir/catalogue_2.15.0.txt
//	go run ./scripts/gencatalogue -o /tmp/catalogue.txt    # writes another file
//
// The file has a line an operator, sorted by name: the schema as the dispatcher
// prints it, a tab, the tags. A newer libtorch is written to a file of its
// version, and ir/catalogue.go then names that one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

func main() {
	out := flag.String("o", "", "file to write; default ir/catalogue_<version>.txt")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gencatalogue:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	text, version, err := live()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join("ir", "catalogue_"+version+".txt")
	}
	if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d operators of libtorch %s\n", out, strings.Count(text, "\n"), version)
	return nil
}

// live returns the catalogue of the running libtorch and its version without a
// build suffix.
func live() (text, version string, err error) {
	operators, err := libtorch.Operators()
	if err != nil {
		return "", "", err
	}
	info, err := libtorch.GetInfo()
	if err != nil {
		return "", "", err
	}
	version, _, _ = strings.Cut(info.TorchVersion, "+")
	return format(operators), version, nil
}

func format(operators *ir.Catalogue) string {
	var b strings.Builder
	for s := range operators.All() { // sorted by name
		b.WriteString(s.String())
		if s.Tags != 0 {
			b.WriteString("\t" + s.Tags.String())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
