// Package parity replays what PyTorch recorded and tells what differs.
//
// A case is a folder: a program, and what PyTorch recorded of it; or the calls of
// one function in a file of calls. Four kinds are known:
//
//	pt2      model.pt2 with input sets, and what the program computed from each:
//	         outputs, buffers and inputs that it changed, sets that it must refuse
//	pt2-bad  a broken or hostile archive that must be refused with a message that
//	         tells what is wrong, or that is odd but legal and must load
//	fx       a graph that torch.fx recorded: its texts and its nodes must make each
//	         other; runs, saved folders and tables must hold
//	ops      recorded calls of one function: which overloads it calls, what it
//	         returns, changes and shares memory with, or how it fails
//
// The layout of their files is described by the README beside the recorded
// cases; see also scripts/reference_cases.py, which records cases in the same
// layout on the machine at hand, to be repeated bit by bit.
//
// [Run] finds the cases below some paths, replays them in parallel and reports a
// [Result] for each. Values are compared within the tolerance of the case;
// integers, booleans, shapes, dtypes and strides exactly. Whatever the case does
// not list as changed must come out of the run as it went in.
//
// The package prints nothing: [WriteResult] and [WriteReport] write the text that
// `torchfx parity` shows. A Report is safe for concurrent reading.
package parity
