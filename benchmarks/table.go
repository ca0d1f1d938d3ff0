package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A table is the output of the program. Each size has a row; a size with several
// targets has one more row for each further target.
type table struct {
	rows    [][]string
	targets int
	missed  int
}

var header = []string{
	"workload", "size", "floor", "eino", "weft", "/floor", "/eino", "allocs", "B", "target", "got", "",
}

// add adds the rows of a workload.
func (t *table) add(w workload, r results) {
	targets := w.targets(r)
	for _, n := range w.sizes {
		if _, ok := r[cell{weft, n}]; !ok {
			continue
		}
		row := figures(w, r, n)
		for _, target := range targets {
			if target.n != n {
				continue
			}
			t.targets++
			verdict := "met"
			if !target.met() {
				t.missed++
				verdict = "MISSED"
			}
			t.rows = append(t.rows, append(row, target.text, number(target.got), verdict))
			row = make([]string, len(row))
		}
		if row[0] != "" {
			t.rows = append(t.rows, append(row, "", "", ""))
		}
	}
}

// figures returns the columns before the target.
func figures(w workload, r results, n int) []string {
	row := []string{w.name, fmt.Sprintf("%d %ss", n, w.unit)}
	for _, name := range []string{floor, eino, weft} {
		row = append(row, when(r, cell{name, n}, func(s sample) string { return duration(s.ns) }))
	}
	for _, name := range []string{floor, eino} {
		row = append(row, number(ratio(r, cell{weft, n}, cell{name, n}, timeOf)))
	}
	at := cell{weft, n}
	return append(
		row,
		when(r, at, func(s sample) string { return number(s.allocs) }),
		when(r, at, func(s sample) string { return number(s.bytes) }),
	)
}

// when formats a figure of a cell, and returns "-" if it was not measured.
func when(r results, at cell, format func(sample) string) string {
	s, ok := r.median(at)
	if !ok {
		return "-"
	}
	return format(s)
}

// print writes the table and reports whether all targets are met.
func (t *table) print(out io.Writer) (bool, error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range slices.Concat([][]string{header}, t.rows) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t")); err != nil {
			return false, err
		}
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	_, err := fmt.Fprintf(out, "\n%s\n%d targets, %d met, %d missed\n", legend, t.targets, t.targets-t.missed, t.missed)
	return t.missed == 0, err
}

const legend = `Times, allocations and bytes are medians per unit of the size (W5: run). /floor and
/eino are the medians of the quotients in each round. "stopped" means that a sample
exceeded its limit of time. The floor of W7 is a channel, that of W9 the same thread at
1,000 supersteps, and that of pausing the same thread without a pause.`

// duration formats nanoseconds with three digits.
func duration(ns float64) string {
	switch {
	case math.IsInf(ns, 0):
		return number(ns)
	case ns >= 1e6:
		return number(ns/1e6) + " ms"
	case ns >= 1e3:
		return number(ns/1e3) + " µs"
	}
	return number(ns) + " ns"
}

// number formats with three digits, and from 100 on as a whole number. NaN means that
// nothing was measured, infinity that a sample exceeded its limit.
func number(x float64) string {
	switch {
	case math.IsInf(x, 0):
		return "stopped"
	case math.IsNaN(x):
		return "-"
	case math.Abs(x) >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
