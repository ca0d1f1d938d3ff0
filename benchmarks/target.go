package main

import (
	"fmt"
	"math"
)

// A target bounds a figure that comes from one run of a workload.
type target struct {
	n     int    // the size whose row shows the target
	text  string // the figure and its bound
	got   float64
	bound float64
	least bool // the bound is a lower bound
}

// met reports whether the figure is within the bound. It returns false if the figure
// was not measured.
func (t target) met() bool {
	if math.IsNaN(t.got) || math.IsInf(t.got, 0) {
		return false
	}
	if t.least {
		return t.got >= t.bound
	}
	return t.got <= t.bound
}

// ratio returns the median over the rounds of the quotient of two cells. It returns NaN
// if a cell was not measured.
func ratio(r results, of, to cell, figure func(sample) float64) float64 {
	return r.paired(func(round ...sample) float64 {
		if figure(round[1]) == 0 {
			return math.NaN()
		}
		return figure(round[0]) / figure(round[1])
	}, of, to)
}

// These functions return the figures of a sample that targets bound.
func timeOf(s sample) float64   { return s.ns }
func allocsOf(s sample) float64 { return s.allocs }
func heapOf(s sample) float64   { return s.heap }
func storedOf(s sample) float64 { return s.stored }
func tripsOf(s sample) float64  { return s.trips }

// timesFloor bounds the time of weft by a multiple of the floor's.
func timesFloor(r results, n int, bound float64) target {
	return target{
		n: n, bound: bound,
		text: fmt.Sprintf("<= %v x floor", bound),
		got:  ratio(r, cell{weft, n}, cell{floor, n}, timeOf),
	}
}

// bytesOfFloor bounds a number of bytes of weft by a multiple of the floor's.
func bytesOfFloor(r results, n int, bound float64, what string, figure func(sample) float64) target {
	return bytesOf(r, floor, n, bound, what, figure)
}

func bytesOf(r results, base string, n int, bound float64, what string, figure func(sample) float64) target {
	own, _ := r.median(cell{base, n})
	return target{
		n: n, bound: bound,
		text: fmt.Sprintf("<= %v x %s's %s B %s", bound, base, number(figure(own)), what),
		got:  ratio(r, cell{weft, n}, cell{base, n}, figure),
	}
}

// ofEino bounds the time of weft by a fraction of eino's.
func ofEino(r results, n int, bound float64) target {
	return target{
		n: n, bound: bound,
		text: fmt.Sprintf("<= %v x eino", bound),
		got:  ratio(r, cell{weft, n}, cell{eino, n}, timeOf),
	}
}

// flat bounds the time of weft at a large size by its time at a small one.
func flat(r results, small, large int, bound float64) target {
	return target{
		n: large, bound: bound,
		text: fmt.Sprintf("flat: <= %v x n=%d", bound, small),
		got:  ratio(r, cell{weft, large}, cell{weft, small}, timeOf),
	}
}

// atMost bounds the median of a figure of one contestant by a fixed number.
func atMost(r results, at cell, bound float64, what string, figure func(sample) float64) target {
	t := target{n: at.n, bound: bound, text: fmt.Sprintf("<= %v %s", bound, what), got: math.NaN()}
	if s, ok := r.median(at); ok {
		t.got = figure(s)
	}
	return t
}
