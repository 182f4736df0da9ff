// Package special is torch.special: functions of mathematics, element by element.
//
// A function takes what Python's has no default for, and options behind it:
// further arguments in Python's order, then keywords by torch.Kw. On real tensors
// it computes; where an argument is traced it records the function, under the name
// that torch.fx prints. As all of model code, functions panic with a *torch.Error,
// which torch.Try returns.
//
// The functions are generated; see scripts/genapi.
package special
