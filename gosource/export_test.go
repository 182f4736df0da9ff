package gosource

// Forms are the parameters of the typed calls, by Python's name.
func Forms() map[string]string {
	all := map[string]string{}
	for name, f := range forms {
		all[name] = f.params
	}
	return all
}
