package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"
)

// A sample is what one contestant took at one size in one round, per unit.
type sample struct {
	ns     float64
	allocs float64
	bytes  float64
	heap   float64 // kept per run, when the subject keeps
	stored float64 // on disk per unit, when the subject stores
}

// A cell names a contestant at a size.
type cell struct {
	contestant string
	n          int
}

// results are the samples of a workload, by round.
type results map[cell][]sample

// median returns the medians of a cell, and whether it was measured.
func (r results) median(at cell) (sample, bool) {
	all := r[at]
	return medians(all), len(all) > 0
}

// paired returns the median of what the rounds give, each from its own samples:
// what slows the machine for a while slows all of a round. It is NaN when one of
// the cells was not measured.
func (r results) paired(of func(round ...sample) float64, cells ...cell) float64 {
	rounds := len(r[cells[0]])
	for _, at := range cells {
		rounds = min(rounds, len(r[at]))
	}
	if rounds == 0 {
		return math.NaN()
	}
	got := make([]float64, rounds)
	for i := range got {
		round := make([]sample, len(cells))
		for k, at := range cells {
			round[k] = r[at][i]
		}
		got[i] = of(round...)
	}
	return median(got)
}

// settings say how much to measure.
type settings struct {
	rounds int
	// atLeast is how long a sample takes at least.
	atLeast time.Duration
	maxSize int
}

// inTurn is how many rounds a workload has before it is another one's turn. What
// slows the machine for seconds is in few of all its rounds; and most of them find
// the heap as large as they need it.
const inTurn = 5

// measure runs all contestants of all workloads at all sizes. Tell is called before
// each turn.
func measure(ctx context.Context, list []workload, s settings, tell func(w workload, first, last int)) ([]results, error) {
	all := make([]results, len(list))
	repeat := make([]map[cell]int, len(list))
	for _, crowds := range []bool{false, true} {
		for first := 0; first < s.rounds; first += inTurn {
			last := min(first+inTurn, s.rounds)
			for i, w := range list {
				if w.crowds != crowds {
					continue
				}
				tell(w, first+1, last)
				if first == 0 { // one more warms up and finds how often each has to run
					all[i], repeat[i] = make(results), make(map[cell]int)
					if err := round(ctx, w, s, make(results), repeat[i]); err != nil {
						return nil, err
					}
				}
				for range last - first {
					if err := round(ctx, w, s, all[i], repeat[i]); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return all, nil
}

// round adds a sample of each contestant at each size. Repeat is how often each runs.
func round(ctx context.Context, w workload, s settings, r results, repeat map[cell]int) error {
	for _, n := range w.sizes {
		if s.maxSize > 0 && n > s.maxSize {
			continue
		}
		for _, c := range w.contestants {
			if !c.does(n) {
				continue
			}
			at := cell{c.name, n}
			got, times, err := measureOnce(ctx, w, c, n, repeat[at], s.atLeast)
			if err != nil {
				return fmt.Errorf("%s: %s at %d: %w", w.name, c.name, n, err)
			}
			repeat[at] = times
			r[at] = append(r[at], got)
		}
	}
	return nil
}

// measureOnce takes one sample of so many runs. With none asked for, it runs
// until the time is reached. It returns how many runs it took.
func measureOnce(ctx context.Context, w workload, c contestant, n, times int, atLeast time.Duration) (got sample, ran int, err error) {
	s, err := c.setUp(ctx, w, n)
	if err != nil {
		return sample{}, 0, err
	}
	if s.close != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var last outcome
	start := time.Now()
	for ran = 0; ran < times || times == 0 && (ran == 0 || time.Since(start) < atLeast); ran++ {
		if last, err = s.run(ctx); err != nil {
			return sample{}, 0, err
		}
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err := w.verify(w, n, last); err != nil {
		return sample{}, 0, fmt.Errorf("wrong final state: %w", err)
	}
	units := float64(n * ran)
	got = sample{
		ns:     float64(took.Nanoseconds()) / units,
		allocs: float64(after.Mallocs-before.Mallocs) / units,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / units,
	}
	if s.keeps {
		if s.trim != nil {
			s.trim()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		got.heap = (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(ran)
	}
	if s.stored != nil {
		stored, err := s.stored()
		if err != nil {
			return sample{}, 0, err
		}
		got.stored = float64(stored) / units
	}
	runtime.KeepAlive(s)
	return got, ran, nil
}

func medians(all []sample) sample {
	of := func(field func(sample) float64) float64 {
		values := make([]float64, len(all))
		for i, s := range all {
			values[i] = field(s)
		}
		return median(values)
	}
	return sample{
		ns:     of(func(s sample) float64 { return s.ns }),
		allocs: of(func(s sample) float64 { return s.allocs }),
		bytes:  of(func(s sample) float64 { return s.bytes }),
		heap:   of(func(s sample) float64 { return s.heap }),
		stored: of(func(s sample) float64 { return s.stored }),
	}
}

// median returns the middle of the values, and zero when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
