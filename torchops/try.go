package torchops

// Try runs model code that is called directly and returns what it panicked with
// as an error, if that is an *[Error]. Any other panic is a bug and passes.
func Try[R any](f func() R) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(*Error)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	return f(), nil
}
