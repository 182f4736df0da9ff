package torchops

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
)

//go:embed excluded_names.txt
var excludedText string

// excludedByReason yields the reasons of excluded_names.txt with their names.
func excludedByReason() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		reason, names := "", []string(nil)
		for line := range strings.Lines(excludedText) {
			switch line = strings.TrimSpace(line); {
			case line == "" || line[0] == '#':
			case line[0] == '=':
				if names != nil && !yield(reason, names) {
					return
				}
				reason, names = strings.TrimSpace(line[1:]), nil
			default:
				names = append(names, strings.Fields(line)...)
			}
		}
		yield(reason, names)
	}
}

// leftOut maps the public names of PyTorch that are not known here to why.
var leftOut = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for reason, names := range excludedByReason() {
		for _, name := range names {
			all[name] = reason
		}
	}
	return all
})
