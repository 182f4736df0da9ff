// Package functional is torch.nn.functional: the layers as functions.
//
//	y := functional.Relu(functional.Conv2d(x, weight, torch.Kw("stride", 2)))
//
// A function takes what Python's has no default for, and the rest as options by
// Python's names. On real tensors it calls the operators that Python's calls, in
// the same order, so that the bits are PyTorch's. Where an argument is traced it
// records one call: a function that Python binds to C++ as it was called, under
// the name that torch.fx prints (torch.conv2d, torch._C._nn.linear); one that is
// Python code in the form in which it hands itself to torch.fx, every argument
// by its place or its keyword:
//
//	torch.nn.functional.relu(x, inplace = False)
//
// Both are what graphs name; what they compute is in package torchops, so that a
// graph runs without this package. [Call] calls a function by its name. As all of
// model code, they panic with a *torch.Error, which torch.Try returns.
package functional
