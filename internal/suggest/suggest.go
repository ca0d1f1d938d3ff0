// Package suggest finds the known name that a misspelt name resembles most.
package suggest

import (
	"fmt"
	"strings"
)

// For returns a suggestion for an error message, such as `; did you mean "name"?`.
// It returns "" if no name is similar.
func For(given string, names []string) string {
	allowed := max(1, len(given)/3)
	if len(given) > 3 {
		allowed = max(2, allowed) // a swap of two letters counts as two changes
	}
	best, least := "", allowed+1
	for _, name := range names {
		if d := distance(strings.ToLower(given), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance returns the Levenshtein distance between two strings:
// the number of bytes to insert, remove or replace to turn one into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := above
			if a[i] != b[j] {
				cost++
			}
			above = row[j+1]
			row[j+1] = min(row[j]+1, above+1, cost)
		}
	}
	return row[len(b)]
}
