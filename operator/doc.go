// Package operator is Python's operator module: operator.Add(x, y) is x + y.
//
// It exists beside the functions of torchops because a graph tells the spellings
// apart: torch.Add(x, y) records torch.add, x.Add(y) the method add, and
// operator.Add(x, y) what Python's x + y records.
//
//	y := operator.Mul(operator.Add(x, 1), w)
//
// The operands of the functions that return a tensor are tensors and numbers, at
// least one a tensor; with a traced one the call is recorded. What Python computes
// on numbers alone is in [Call].
package operator
