// Package spelling compares names that may be misspelt.
package spelling

// Distance returns how many bytes to insert, drop, replace or exchange with their
// neighbour turn a into b (each part of the text is edited once), or limit+1 where it is
// more than limit. It takes len(a)*len(b) steps: bound what comes from a file.
func Distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		least := i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d = min(last[j], last[j+1], row[j]) + 1
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					d = min(d, before[j-1]+1)
				}
			}
			row[j+1] = d
			least = min(least, d)
		}
		if least > limit+1 { // an exchange may still win back one
			return limit + 1
		}
	}
	return min(row[len(b)], limit+1)
}
