package ir

// A CodeGen makes the signature and the return of generated code, and fits a
// caller's arguments to placeholders. The zero graph has torch.fx's plain one.
type CodeGen interface {
	// ProcessInputs turns what a caller gave into one value per placeholder.
	ProcessInputs(args []any, kwargs map[string]any) ([]any, error)
	// ProcessOutputs turns the value of the output node into what the caller gets.
	ProcessOutputs(out any) (any, error)
}
