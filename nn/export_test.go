package nn

// LimitRepr bounds the elements that a repr may ask for, for fuzzing in little
// memory.
func LimitRepr(elements int) { reprAllowance.elements = elements }
