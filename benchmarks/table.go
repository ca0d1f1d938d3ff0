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

// A table is the output of the program: a row for each size of each workload.
type table struct {
	rows    []row
	targets int
	missed  int
}

// A row holds the figures and the targets of a size.
type row struct {
	figures []string
	targets []target
}

var header = []string{"workload", "size", "floor", "eino", "weft", "/floor", "/eino", "allocs", "B"}

// add adds the rows of a workload.
func (t *table) add(w workload, r results) {
	targets := w.targets(r)
	for _, n := range w.sizes {
		if _, ok := r[cell{weft, n}]; !ok {
			continue
		}
		line := row{figures: figures(w, r, n)}
		for _, target := range targets {
			if target.n != n {
				continue
			}
			line.targets = append(line.targets, target)
			t.targets++
			if !target.met() {
				t.missed++
			}
		}
		t.rows = append(t.rows, line)
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

// verdict says whether the target is met.
func (t target) verdict() string {
	if t.met() {
		return "met"
	}
	return "MISSED"
}

// print writes the table and reports whether all targets are met. Further targets of a
// size have lines of their own.
func (t *table) print(out io.Writer) (bool, error) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	lines := [][]string{append(slices.Clone(header), "target", "got")}
	for _, r := range t.rows {
		columns := r.figures
		for _, target := range r.targets {
			lines = append(lines, append(slices.Clone(columns), target.text, number(target.got), target.verdict()))
			columns = make([]string, len(columns))
		}
		if len(r.targets) == 0 {
			lines = append(lines, columns)
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, strings.Join(line, "\t")); err != nil {
			return false, err
		}
	}
	if err := w.Flush(); err != nil {
		return false, err
	}
	return t.summary(out)
}

// symbols replaces operators by their signs.
var symbols = strings.NewReplacer("<=", "≤", ">=", "≥", " x ", " × ")

// markdown writes the table for a document, with one line for each size.
func (t *table) markdown(out io.Writer) (bool, error) {
	columns := []int{0, 1, 2, 3, 4} // the figures up to the time of weft
	line := func(figures []string, targets string) {
		cells := make([]string, 0, len(columns)+1)
		for _, i := range columns {
			cells = append(cells, figures[i])
		}
		fmt.Fprintf(out, "| %s | %s |\n", strings.Join(cells, " | "), targets)
	}
	line(header, "targets: got")
	fmt.Fprintln(out, strings.Repeat("| --- ", len(columns)+1)+"|")
	for _, r := range t.rows {
		texts := make([]string, len(r.targets))
		for i, target := range r.targets {
			texts[i] = symbols.Replace(target.text) + ": " + number(target.got)
			if !target.met() {
				texts[i] = "**" + texts[i] + "**"
			}
		}
		line(r.figures, strings.Join(texts, " · "))
	}
	return t.summary(out)
}

// summary writes the legend and the number of targets, and reports whether all are met.
func (t *table) summary(out io.Writer) (bool, error) {
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
