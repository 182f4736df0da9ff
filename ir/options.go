package ir

import "reflect"

// CheckOptions returns an error of class [ErrInput] where one of the options given to what
// is nil, a function or an interface, and nil where none is. Whoever takes options asks it
// before they are called.
func CheckOptions[O any](what string, opts []O) error {
	for _, o := range opts {
		if v := reflect.ValueOf(o); !v.IsValid() || v.Kind() == reflect.Func && v.IsNil() {
			return Errorf(ErrInput, "%s: expected an option, got nil", what)
		}
	}
	return nil
}
