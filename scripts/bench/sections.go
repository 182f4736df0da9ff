package main

import (
	"fmt"
	"os"
	"strings"
)

// replaceSections writes the tables of what was measured between their markers.
func (r *results) replaceSections(file string) error {
	var networks []string
	for _, n := range r.Networks {
		networks = append(networks, n.table())
	}
	for _, part := range []struct{ flags, text string }{
		{"", r.Chains.table()}, {" -networks", strings.Join(networks, "\n")}, {" -load", r.Load.table()}, {" -networks, summed up", r.answers()},
	} {
		if part.text == "" {
			continue
		}
		if err := replaceSection(file, part.flags, part.text); err != nil {
			return err
		}
	}
	return nil
}

// tablesBeside is the file with the long tables of a Markdown file, which is to be read.
func tablesBeside(file string) string { return strings.TrimSuffix(file, ".md") + "-tables.md" }

// replaceSection puts text between the markers of a file or of its tables, whichever
// has them. There is a pair for the command with each kind of flag.
func replaceSection(name, flags, text string) error {
	begin, end := "<!-- begin of scripts/bench"+flags+" -->", "<!-- end of scripts/bench"+flags+" -->"
	for _, file := range []string{name, tablesBeside(name)} {
		data, err := os.ReadFile(file)
		if os.IsNotExist(err) && file != name {
			break
		}
		if err != nil {
			return err
		}
		before, rest, ok := strings.Cut(string(data), begin)
		_, after, ok2 := strings.Cut(rest, end)
		if ok && ok2 {
			return os.WriteFile(file, []byte(before+begin+"\n"+text+end+after), 0o644)
		}
	}
	return fmt.Errorf("%s: expected the markers %s and %s here or in %s", name, begin, end, tablesBeside(name))
}
