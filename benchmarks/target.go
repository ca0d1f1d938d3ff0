package main

import (
	"fmt"
	"math"
)

// A target bounds a figure that comes from one run of a workload.
type target struct {
	n     int    // the row of the table that it belongs to
	text  string // what is bounded, with the bound
	got   float64
	bound float64
	least bool // the bound is a lower one
}

// met says whether the figure keeps within the bound. One that was not measured
// does not.
func (t target) met() bool {
	if math.IsNaN(t.got) || math.IsInf(t.got, 0) {
		return false
	}
	if t.least {
		return t.got >= t.bound
	}
	return t.got <= t.bound
}

// ratio returns the quotient of two figures, the median of those of the rounds,
// and NaN when one of them was not measured.
func ratio(r results, of, to cell, figure func(sample) float64) float64 {
	return r.paired(func(round ...sample) float64 {
		if figure(round[1]) == 0 {
			return math.NaN()
		}
		return figure(round[0]) / figure(round[1])
	}, of, to)
}

func perUnit(s sample) float64 { return s.ns }

// timesFloor bounds weft's time by the floor's.
func timesFloor(r results, n int, bound float64) target {
	return target{
		n: n, bound: bound,
		text: fmt.Sprintf("<= %v x floor", bound),
		got:  ratio(r, cell{weft, n}, cell{floor, n}, perUnit),
	}
}

// bytesOfFloor bounds what weft stores by what the floor does.
func bytesOfFloor(r results, n int, bound float64, what string, figure func(sample) float64) target {
	own, _ := r.median(cell{floor, n})
	return target{
		n: n, bound: bound,
		text: fmt.Sprintf("<= %v x floor's %s B %s", bound, number(figure(own)), what),
		got:  ratio(r, cell{weft, n}, cell{floor, n}, figure),
	}
}

// fractionOfEino bounds weft's time by 1/part of eino's.
func fractionOfEino(r results, n int, part float64) target {
	return target{
		n: n, bound: 1 / part,
		text: fmt.Sprintf("<= 1/%v of eino (%.3f)", part, 1/part),
		got:  ratio(r, cell{weft, n}, cell{eino, n}, perUnit),
	}
}

// flat bounds weft's time at a large size by that at a small one.
func flat(r results, small, large int, bound float64) target {
	return target{
		n: large, bound: bound,
		text: fmt.Sprintf("flat: <= %v x n=%d", bound, small),
		got:  ratio(r, cell{weft, large}, cell{weft, small}, perUnit),
	}
}

// atMost bounds a figure of weft itself.
func atMost(r results, n int, bound float64, what string, figure func(sample) float64) target {
	t := target{n: n, bound: bound, text: fmt.Sprintf("<= %v %s", bound, what), got: math.NaN()}
	if s, ok := r.median(cell{weft, n}); ok {
		t.got = figure(s)
	}
	return t
}
