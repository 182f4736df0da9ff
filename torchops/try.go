package torchops

// recoverError makes an error of a panic with an *[Error], in a deferred call.
func recoverError(err *error) {
	if p := recover(); p != nil {
		e, ok := p.(*Error)
		if !ok {
			panic(p)
		}
		*err = e
	}
}

// Try runs model code that is called directly and returns what it panicked with
// as an error, if that is an *[Error]. Any other panic is a bug and passes.
func Try[R any](f func() R) (r R, err error) {
	defer recoverError(&err)
	return f(), nil
}
