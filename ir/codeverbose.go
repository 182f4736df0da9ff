package ir

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Terminal colours of torch.fx.
const (
	colorReset    = "\033[0m"
	colorRed      = "\033[31m"
	colorBlue     = "\033[34m"
	colorDim      = "\033[2m"
	colorDimBlue  = "\033[2m\033[34m"
	colorDimGreen = "\033[2m\033[32m"
)

func (e *emitter) color(code, s string) string {
	if !e.cfg.colored {
		return s
	}
	return code + s + colorReset
}

func (e *emitter) dim(s string) string  { return e.color(colorDim, s) }
func (e *emitter) blue(s string) string { return e.color(colorBlue, s) }

// valueAnnotation is the quoted annotation from what meta knows of n's value.
func (e *emitter) valueAnnotation(n *Node) (string, bool) {
	switch m := n.metaValue().(type) {
	case TensorMeta:
		if !n.metaIsTensor() {
			return `: "` + m.DType.Short() + pathText(sizesText(m.Sizes)) + `"`, true
		}
		strides, device := "", ""
		if e.cfg.stride && !sparseCompressed(m.Layout) {
			strides = sizesText(m.Strides)
		}
		if e.cfg.device {
			device = m.Device.String()
		}
		return `: "` + e.color(colorRed, m.DType.Short()) + e.blue(pathText(sizesText(m.Sizes))) +
			e.color(colorDimBlue, pathText(strides)) + e.color(colorDimGreen, device) + `"`, true
	case SymScalar:
		return `: "Sym(` + pathText(symText(m)) + `)"`, true
	}
	return "", false
}

// symText prints a symbolic scalar: its expression, or the value it has.
func symText(s SymScalar) string {
	if s.Expr != nil {
		return fmt.Sprint(s.Expr)
	}
	return Repr(s.Hint)
}

// sourceComment says where n comes from, unless the line before said the same.
func (e *emitter) sourceComment(n *Node) {
	if n.op == Placeholder || n.op == Output {
		return
	}
	var parts []string
	for _, key := range e.cfg.meta {
		if n.meta.Has(key) {
			parts = append(parts, key+": "+metaText(n.meta.Get(key)))
		}
	}
	extra := ""
	if parts != nil {
		extra = "# " + strings.Join(parts, ", ") + " "
	}
	trace := "No stacktrace found for following nodes"
	if stack, _ := n.meta.Get(MetaStackTrace).(string); stack != "" {
		if frame, ok := lastFrame(stack); ok {
			trace = frame
			if backward, _ := n.meta.Get(MetaAutogradBackward).(bool); backward {
				trace = "Backward of forward node: " + trace
			}
		}
	}
	recompute := ""
	id, policy := n.meta.Get(MetaACGraphID), n.meta.Get(MetaRecompute)
	switch {
	case id != nil && policy != nil:
		recompute = fmt.Sprintf(" ac_graph_id: %v - %v", id, policy)
	case policy != nil:
		recompute = fmt.Sprintf(" recompute: %v", policy)
	case id != nil:
		recompute = fmt.Sprintf(" ac_graph_id: %v", id)
	}
	// a comment of one line, whatever a file says
	comment := strings.NewReplacer("\n", " ", "\r", " ").Replace(extra + "#" + customText(n.meta.Get(MetaCustom)) + recompute + " " + trace)
	text := "\n" + e.dim(comment) + "\n"
	if text != e.summary {
		e.summary = text
		e.add(text)
	}
}

// customText prints the annotation that meta's "custom" holds, long values cut.
func customText(custom any) string {
	d, ok := custom.(Dict)
	if text, isText := custom.(string); isText && text != "" {
		if d, ok = customArg(text); !ok {
			return " Annotation: " + text
		}
	}
	if !ok || len(d.pairs) == 0 {
		return ""
	}
	cut := make([]Pair, len(d.pairs))
	for i, p := range d.pairs {
		cut[i] = p
		if s := strOf(p.Value); utf8.RuneCountInString(s) > 40 {
			cut[i].Value = Str(string([]rune(s)[:40]) + "...")
		}
	}
	return " Annotation: " + Repr(Dict{cut})
}

// metaText prints a meta value as Python's str would.
func metaText(v any) string {
	switch v := v.(type) {
	case Arg:
		return strOf(v)
	case bool:
		return boolText(v)
	case float64:
		return floatRepr(v, true)
	}
	return fmt.Sprint(v)
}

var framePattern = regexp.MustCompile(`^File "(.+)", line (\d+), in (.+)$`)

// lastFrame returns the innermost frame of a stack trace in one line.
func lastFrame(stack string) (string, bool) {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	for i := len(lines) - 2; i >= 0; i-- {
		if m := framePattern.FindStringSubmatch(strings.TrimSpace(lines[i])); m != nil {
			return "File: " + m[1] + ":" + m[2] + " in " + m[3] + ", code: " + strings.TrimSpace(lines[i+1]), true
		}
	}
	return "", false
}
