package torchfx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Patterns of what documents name.
var (
	linkOf     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	commandOf  = regexp.MustCompile("(?m)`([^`]+)`|^ +([a-z].*)$|^((?:go|make|bash|torchfx|bin/torchfx|[A-Z_]+=\\S+) .*)$")
	fileOf     = regexp.MustCompile("`((?:[a-z]+/)+[A-Za-z0-9_.-]+\\.(?:go|py|sh|h|cc|txt|md|json))`")
	makeOf     = regexp.MustCompile(`\bmake ((?:[a-z]+-?)+)`)
	goRunOf    = regexp.MustCompile(`\bgo run (\./\S+)((?: +-[a-z-]+(?: +[^-\s]\S*)?)*)`)
	goTestOf   = regexp.MustCompile(`\bgo test (?:-\S+ )*(\.\S*)(.*)`)
	selectorOf = regexp.MustCompile(`-(run|bench|fuzz) +'?([^'\s]+)'?`)
	flagOf     = regexp.MustCompile(` --?([a-z][a-z-]*)`)
	targetOf   = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// documents are what people read; what the changelog says of older versions is left.
func documents(t *testing.T) map[string]string {
	texts := map[string]string{}
	names, err := filepath.Glob(filepath.Join("docs", "*.md"))
	require.NoError(t, err)
	for _, name := range append(names, "README.md", "RATIONALE.md", "CONTRIBUTING.md", "SECURITY.md") {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[name] = string(data)
	}
	return texts
}

// Links lead to files and headings that are there.
func TestLinksOfDocuments(t *testing.T) {
	texts := documents(t)
	count := 0
	for name, text := range texts {
		for _, m := range linkOf.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			count++
			path, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); !assert.NoError(t, err, "%s: link %s", name, m[1]) || anchor == "" {
				continue
			}
			assert.Contains(t, anchors(texts[filepath.Clean(target)]), anchor, "%s: link %s", name, m[1])
		}
	}
	assert.Greater(t, count, 50)
}

// anchors are the names of headings.
func anchors(text string) (names []string) {
	for line := range strings.Lines(text) {
		if title := strings.TrimLeft(line, "#"); title != line {
			title = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			names = append(names, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return names
}

// Commands name programs, flags, tests, benchmarks and targets that are there, and files
// in code quotes exist.
func TestCommandsOfDocuments(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	require.NoError(t, err)
	targets := map[string]bool{}
	for _, m := range targetOf.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	count := map[string]int{}
	for name, text := range documents(t) {
		for _, m := range fileOf.FindAllStringSubmatch(text, -1) {
			count["file"]++
			found := false
			for _, base := range []string{".", filepath.Dir(name)} {
				_, err := os.Stat(filepath.Join(base, filepath.FromSlash(m[1])))
				found = found || err == nil
			}
			assert.True(t, found || strings.Contains(m[1], "third_party/"), "%s: file %s", name, m[1])
		}
		for _, c := range commandOf.FindAllStringSubmatch(strings.ReplaceAll(text, "\n-", " -"), -1) {
			command := strings.ReplaceAll(c[1]+c[2]+c[3], "\n", " ")
			for _, m := range makeOf.FindAllStringSubmatch(command, -1) {
				if c[1] == "" || strings.HasPrefix(command, "make ") || strings.Contains(command, "&& make ") {
					count["make"]++
					assert.True(t, targets[m[1]] || c[1] == "" && !strings.HasPrefix(strings.TrimSpace(command), "make "), "%s: make %s", name, m[1])
				}
			}
			for _, m := range goRunOf.FindAllStringSubmatch(command, -1) {
				count["run"]++
				source := sources(t, m[1], false)
				if !assert.Contains(t, source, "package main", "%s: %s", name, m[0]) {
					continue
				}
				for _, f := range flagOf.FindAllStringSubmatch(m[2], -1) {
					assert.Contains(t, source, fmt.Sprintf("(%q, ", f[1]), "%s: flag of %s", name, m[0])
				}
			}
			for _, m := range goTestOf.FindAllStringSubmatch(command, -1) {
				if strings.HasSuffix(m[1], "...") {
					continue
				}
				count["test"]++
				source := sources(t, m[1], true)
				if !assert.NotEmpty(t, source, "%s: %s", name, m[0]) {
					continue
				}
				for _, s := range selectorOf.FindAllStringSubmatch(m[2], -1) {
					if s[2] == "^$" {
						continue
					}
					kind := map[string]string{"run": "(Test|Example)", "bench": "Benchmark", "fuzz": "Fuzz"}[s[1]]
					want := strings.TrimPrefix(s[2], "^")
					declared := regexp.MustCompile(`(?m)^func ` + kind + `\w*\(`)
					matched := false
					for _, f := range declared.FindAllString(source, -1) {
						f = strings.TrimSuffix(strings.TrimPrefix(f, "func "), "(")
						matched = matched || regexp.MustCompile(want).MatchString(f)
					}
					assert.True(t, matched, "%s: nothing for -%s %s in %s", name, s[1], s[2], m[1])
				}
			}
		}
	}
	for what, least := range map[string]int{"file": 20, "make": 15, "run": 15, "test": 5} {
		assert.Greater(t, count[what], least, what)
	}
}

// sources joins the Go files of a package.
func sources(t *testing.T, dir string, tests bool) string {
	names, err := filepath.Glob(filepath.Join(filepath.FromSlash(strings.TrimSuffix(dir, ",")), "*.go"))
	require.NoError(t, err)
	var b strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") == tests {
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			b.Write(data)
		}
	}
	return b.String()
}
