package ir

// An Expr is an expression over symbols: sizes of a program with dynamic shapes.
type Expr struct{}
