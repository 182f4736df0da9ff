//go:build !gotorch

// Package gotorch is empty without the build tag gotorch.
package gotorch
