// Package functional is torch.nn.functional: the layers as functions.
//
// State: an empty room; its functions come with the operators that Python calls.
package functional
