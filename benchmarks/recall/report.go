package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A report has the results of all sets.
type report struct {
	outcomes    []*outcome
	comparisons []comparison
	timings     []timing
	timed       string // the collection of the timings
}

func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

func header(w io.Writer, cells ...string) {
	fmt.Fprintln(w)
	row(w, cells...)
	row(w, strings.Split(strings.TrimSuffix(strings.Repeat("---,", len(cells)), ","), ",")...)
}

// print prints the tables as Markdown.
func (r *report) print(w io.Writer, b *bench) {
	for _, column := range []struct {
		name  string
		value func(figure) float64
	}{
		{"recall@10", func(f figure) float64 { return f.recall10 }},
		{"recall@5", func(f figure) float64 { return f.recall5 }},
		{"MRR@10", func(f figure) float64 { return f.mrr10 }},
	} {
		header(w, append([]string{column.name}, b.columns()...)...)
		for _, o := range r.outcomes {
			cells := []string{o.set + " (" + o.about + ")"}
			for _, f := range o.columns {
				cells = append(cells, fmt.Sprintf("%.3f", column.value(f)))
			}
			row(w, cells...)
		}
	}
	r.printCandidates(w, b)
	header(w, "store", "set", "found by", "questions", "different from the in-memory store")
	for _, c := range r.comparisons {
		row(w, c.store, c.set, c.way, fmt.Sprint(c.questions), fmt.Sprint(c.different))
	}
}

func (r *report) printCandidates(w io.Writer, b *bench) {
	cells := []string{"recall@10 of Weft"}
	for _, way := range b.ways() {
		for _, n := range candidates {
			cells = append(cells, fmt.Sprintf("%s, %d candidates", way.name, n))
		}
	}
	header(w, cells...)
	for _, o := range r.outcomes {
		cells := []string{o.set}
		for _, list := range o.candidates {
			for _, f := range list {
				cells = append(cells, fmt.Sprintf("%.3f", f.recall10))
			}
		}
		row(w, cells...)
	}
	if len(r.timings) == 0 {
		return
	}
	header(w, "time of a Recall among the "+r.timed, "found by", "candidates", "median", "95th percentile")
	for _, t := range r.timings {
		row(w, t.store, t.way, fmt.Sprint(t.candidates), milliseconds(t.median), milliseconds(t.p95))
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }

// A check is a requirement: a figure is at least a bound.
type check struct {
	set, what  string
	got, bound float64
}

// checks returns the requirements for a set.
func (o *outcome) checks() (list []check) {
	all, plain, bm25, words, vectors, weft := o.columns[0], o.columns[1], o.columns[2], o.columns[3], o.columns[4], o.columns[6]
	add := func(what string, got, bound float64) { list = append(list, check{o.set, what, got, bound}) }
	either := max(bm25.recall10, vectors.recall10)
	switch o.set {
	case "facts, same words":
		add("recall@5 by words", words.recall5, 1)
		add("recall@5 with learned vectors", weft.recall5, 1)
		add("recall@5 by words against all words", words.recall5, all.recall5+0.3)
	case "facts, other words":
		add("recall@5 with vectors against either leg", weft.recall5, max(bm25.recall5, vectors.recall5)+0.02)
		add("recall@10 with vectors against either leg", weft.recall10, either+0.02)
	case "title → section":
		add("MRR@10 by words against BM25", words.mrr10, max(plain.mrr10, bm25.mrr10))
		add("MRR@10 with vectors against BM25", weft.mrr10, plain.mrr10)
	case "title → paragraphs":
		add("recall@10 with vectors against either leg", weft.recall10, either+0.02)
		add("recall@10 by words against BM25", words.recall10, bm25.recall10+0.02)
	case "definition → definition":
		add("recall@10 with vectors against either leg", weft.recall10, either+0.02)
		add("recall@10 by words against all words", bm25.recall10, all.recall10+0.3)
	}
	return list
}

// failures returns a line for each requirement that is not met and for each difference between stores.
func (r *report) failures() (lines []string) {
	for _, o := range r.outcomes {
		for _, c := range o.checks() {
			if c.got < c.bound-1e-9 {
				lines = append(lines, fmt.Sprintf("%s: %s: got %.3f, want %.3f at least", c.set, c.what, c.got, c.bound))
			}
		}
	}
	for _, c := range r.comparisons {
		if c.different > 0 {
			lines = append(lines, fmt.Sprintf("%s, %s, %s: %d of %d results differ from the in-memory store; the first: %s", c.store, c.set, c.way, c.different, c.questions, c.example))
		}
	}
	return lines
}
