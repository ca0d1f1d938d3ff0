package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Comparison says how the scores of a scorer differ between two runs.
type Comparison struct {
	Scorer string
	// Before and After are the means over the cases that both runs have.
	Before, After float64
	// Difference is the mean difference of the cases, with its confidence interval. If the interval excludes 0, the
	// difference is significant.
	Difference Interval
	// Better and Worse are the names of the changed cases, with the largest change first. Same is the number of
	// unchanged cases.
	Better, Worse []string
	Same          int
	// Unpaired are the cases for which only one run has scores. They are not compared.
	Unpaired []string
}

// Significant reports whether the interval of the difference excludes 0.
func (c *Comparison) Significant() bool { return c.Difference.Low > 0 || c.Difference.High < 0 }

// Compare compares two runs, case by case, for each scorer that both have. It returns [ErrInvalid] if they have no scorer or
// no case in common, or if a report is nil.
func Compare(before, after *Report) ([]Comparison, error) {
	if before == nil || after == nil {
		return nil, fmt.Errorf("eval: compare: a report is nil; check the error of its run: %w", ErrInvalid)
	}
	var list []Comparison
	for _, name := range after.Scorers {
		if slices.Contains(before.Scorers, name) {
			list = append(list, compareScorer(name, before, after))
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("eval: compare: the runs have the scorers %s and %s: %w", strings.Join(before.Scorers, ", "), strings.Join(after.Scorers, ", "), ErrInvalid)
	}
	for _, c := range list {
		if len(c.Better)+len(c.Worse)+c.Same > 0 {
			return list, nil
		}
	}
	return nil, fmt.Errorf("eval: compare: the runs have no case in common: %w", ErrInvalid)
}

func compareScorer(name string, before, after *Report) Comparison {
	c := Comparison{Scorer: name}
	then := map[string]float64{}
	cases, means := before.caseMeans(name)
	for i, one := range cases {
		then[one] = means[i]
	}
	now, newMeans := after.caseMeans(name)
	var befores, afters, differences []float64
	change := map[string]float64{}
	for i, one := range now {
		old, ok := then[one]
		if !ok {
			c.Unpaired = append(c.Unpaired, one)
			continue
		}
		delete(then, one)
		d := newMeans[i] - old
		befores, afters, differences = append(befores, old), append(afters, newMeans[i]), append(differences, d)
		change[one] = d
		switch {
		case d > 0:
			c.Better = append(c.Better, one)
		case d < 0:
			c.Worse = append(c.Worse, one)
		default:
			c.Same++
		}
	}
	for _, one := range cases {
		if _, ok := then[one]; ok {
			c.Unpaired = append(c.Unpaired, one)
		}
	}
	slices.SortStableFunc(c.Better, func(a, b string) int { return cmp.Compare(change[b], change[a]) })
	slices.SortStableFunc(c.Worse, func(a, b string) int { return cmp.Compare(change[a], change[b]) })
	if len(differences) > 0 {
		c.Before, _ = mean(befores)
		c.After, _ = mean(afters)
		c.Difference = intervalOf(differences, -1, 1)
	}
	return c
}

// WriteComparison writes comparisons as a table, and the cases that became worse.
func WriteComparison(w io.Writer, list []Comparison) error {
	var b strings.Builder
	rows := [][]any{{"scorer", "before", "after", "difference", "95 % interval", "better", "worse", "same", "unpaired"}}
	for _, c := range list {
		paired := len(c.Better) + len(c.Worse) + c.Same
		rows = append(rows, []any{
			c.Scorer, decimals(paired, c.Before), decimals(paired, c.After),
			fmt.Sprintf("%+.3f", c.Difference.Mean), c.Difference.bounds(paired), len(c.Better), len(c.Worse), c.Same, len(c.Unpaired),
		})
	}
	writeColumns(&b, rows)
	for _, c := range list {
		verdict := "is not significant"
		if c.Significant() {
			verdict = "is significant"
		}
		fmt.Fprintf(&b, "%s: the difference %s\n", c.Scorer, verdict)
		for _, name := range c.Worse[:min(len(c.Worse), maxWorst)] {
			fmt.Fprintf(&b, "  worse: %s\n", name)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
