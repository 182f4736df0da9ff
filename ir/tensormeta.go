package ir

// TensorMeta is what is known of a tensor without its elements.
type TensorMeta struct {
	DType         DType
	Sizes         []Size // in elements
	Strides       []Size // in elements
	StorageOffset Size   // in elements
	Device        Device
	Layout        Layout
	RequiresGrad  bool
}

// Text returns the form that torch.fx prints, "f32[s77, 3][3, 1]cpu", with the
// strides and the device where these are asked for. Tensors in a compressed
// sparse layout have no strides.
func (m TensorMeta) Text(stride, device bool) string {
	text := m.DType.Short() + sizesText(m.Sizes)
	if stride && !sparseCompressed(m.Layout) {
		text += sizesText(m.Strides)
	}
	if device {
		text += m.Device.String()
	}
	return text
}

// A Size is a number or an expression over symbols. The zero value is 0.
type Size struct {
	n    int64
	expr *Expr
}

// SizeOf returns the known size n.
func SizeOf(n int64) Size { return Size{n: n} }

// SymbolicSize returns the size that e stands for, of which hint was the value
// when the program was exported.
func SymbolicSize(e *Expr, hint int64) Size { return Size{n: hint, expr: e} }

// Known returns the number of a size that has no symbol in it.
func (s Size) Known() (int64, bool) { return s.n, s.expr == nil }

// Hint returns the number, or for an expression its value at export.
func (s Size) Hint() int64 { return s.n }

// Expr returns the expression, nil for a known size.
func (s Size) Expr() *Expr { return s.expr }

// String returns Python's str of the size: "3" or "2*s27".
func (s Size) String() string { return sizeText(s) }

// A SymScalar is what is known of a symbolic int, float or bool.
type SymScalar struct {
	Kind TypeKind // TypeSymInt, TypeSymFloat or TypeSymBool
	Expr *Expr    // nil where Hint is the value
	Hint Arg      // Int, Float or Bool; None where unknown
}
