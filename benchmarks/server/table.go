package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A table has a row for each figure.
type table struct {
	markdown bool
	rows     [][]string
	targets  int
	missed   int
}

// add adds a figure of Weft, the same figure of the other server, and their quotient with its bound.
func (t *table) add(what, weft, other string, got, bound float64, least bool) {
	sign, met := "≤", got <= bound
	if least {
		sign, met = "≥", got >= bound
	}
	t.targets++
	verdict := "met"
	if !met {
		t.missed++
		verdict = "MISSED"
	}
	t.rows = append(t.rows, []string{what, weft, other, fmt.Sprintf("%s %.3g", sign, bound), fmt.Sprintf("%.3g", got), verdict})
}

// print writes the table and returns the number of targets that are missed.
func (t *table) print(w io.Writer) int {
	header := []string{"figure", "weft", "other", "target", "got", ""}
	var text strings.Builder
	if t.markdown {
		for i, r := range append([][]string{header}, t.rows...) {
			text.WriteString("| " + strings.Join(r, " | ") + " |\n")
			if i == 0 {
				text.WriteString(strings.Repeat("| --- ", len(header)) + "|\n")
			}
		}
	} else {
		out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, r := range append([][]string{header}, t.rows...) {
			_, _ = io.WriteString(out, strings.Join(r, "\t")+"\n") // a Builder does not fail
		}
		_ = out.Flush()
	}
	fmt.Fprintf(w, "%s\n%d targets, %d met, %d missed\n", text.String(), t.targets, t.targets-t.missed, t.missed)
	return t.missed
}
