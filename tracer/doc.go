// Package tracer turns Go models and Go functions into graphs by running them on
// values that stand for nodes.
//
// State: the types and signatures stand, so that what calls a tracer compiles;
// tracing answers with an error wrapping [ir.ErrUnsupported].
package tracer
