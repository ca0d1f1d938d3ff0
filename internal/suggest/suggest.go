// Package suggest finds the known name that a misspelt name resembles most.
package suggest

import (
	"fmt"
	"strings"
)

// For returns a suggestion for an error message, such as `; did you mean "name"?`.
// It returns "" if no name is similar.
func For(given string, names []string) string {
	best, least := "", len(given)+1
	for _, name := range names {
		d := distance(strings.ToLower(given), strings.ToLower(name))
		if d < least && d <= allowed(min(len(given), len(name))) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// allowed returns the largest distance of two similar names. The argument is the length of the shorter name.
func allowed(length int) int {
	switch {
	case length < 3:
		return 0 // only the case of a letter differs
	case length < 5:
		return 1
	}
	return max(2, length/3)
}

// distance returns the number of bytes to insert, remove or replace, and of neighbours to swap,
// to turn one string into the other.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1) // before is the row before the row above
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(row[j]+1, above[j+1]+1, cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
