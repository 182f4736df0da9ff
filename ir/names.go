package ir

import (
	"maps"
	"strconv"
	"strings"
	"unicode"
)

// A namespace hands out unique names by torch.fx's rules
// (torch/fx/graph.py, _Namespace).
type namespace struct {
	used  map[string]*Node // a name stays here when its node goes; nil then
	count map[string]int   // base -> last number handed out
}

func newNamespace() *namespace {
	return &namespace{used: map[string]*Node{}, count: map[string]int{}}
}

// grow makes room for n more names.
func (s *namespace) grow(n int) {
	used := make(map[string]*Node, len(s.used)+n)
	maps.Copy(used, s.used)
	s.used = used
}

// create returns a new name near candidate.
func (s *namespace) create(candidate string) string {
	return s.createFor(candidate, illegalName)
}

// createOwned is create for a node, which [Graph.Lookup] then finds.
func (s *namespace) createOwned(candidate string, n *Node) string {
	return s.createAs(candidate, illegalName, n)
}

// createFor is create with a test of its own for names that are taken by
// Python; generated code lets an object have the reserved name that it owns.
func (s *namespace) createFor(candidate string, illegal func(string) bool) string {
	return s.createAs(candidate, illegal, nil)
}

func (s *namespace) createAs(candidate string, illegal func(string) bool, n *Node) string {
	name := identifier(candidate)
	base, number, numbered := splitNumber(name)
	if _, taken := s.used[name]; taken || !numbered {
		number = s.count[base]
		if illegal(name) {
			number++
			name = numberedName(base, number)
		}
	}
	for {
		if _, taken := s.used[name]; !taken {
			break
		}
		number++
		name = numberedName(base, number)
	}
	s.used[name] = n
	s.count[base] = number
	return name
}

func numberedName(base string, number int) string {
	b := make([]byte, 0, 64) // on the stack
	return string(strconv.AppendInt(append(append(b, base...), '_'), int64(number), 10))
}

// reserve takes a name as it is, be it one of Python's, for files that bring
// their own names. It reports whether the name was free.
func (s *namespace) reserve(name string) bool {
	if _, taken := s.used[name]; taken {
		return false
	}
	if isASCIIIdentifier(name) {
		s.createFor(name, func(string) bool { return false }) // counts as torch.fx does
	} else {
		s.used[name] = nil
	}
	return true
}

// identifier replaces each run of characters that no Python identifier of fx
// holds by one underscore.
func identifier(s string) string {
	if isASCIIIdentifier(s) {
		return s
	}
	var b strings.Builder
	bad := false
	for _, r := range s {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
			bad = false
		} else if !bad {
			b.WriteByte('_')
			bad = true
		}
	}
	if b.Len() == 0 {
		return "_unnamed"
	}
	if c := b.String()[0]; c >= '0' && c <= '9' {
		return "_" + b.String()
	}
	return b.String()
}

func isASCIIIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return false
	}
	return s != ""
}

// splitNumber cuts "foo_12" into "foo" and 12. The base is the shortest that
// leaves exactly an underscore and digits, and at least one character long.
func splitNumber(s string) (base string, number int, numbered bool) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	if i == len(s) || i < 2 || s[i-1] != '_' {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i:])
	if err != nil {
		return s, 0, false
	}
	return s[:i-1], n, true
}

// snakeCase puts an underscore before every capital that follows a lower-case
// letter and lowers all, as torch.fx.graph._snake_case.
func snakeCase(s string) string {
	if strings.IndexFunc(s, unicode.IsUpper) < 0 {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' && i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteByte(c)
	}
	return strings.ToLower(b.String())
}
