package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A sample holds the measurements of one contestant at one size in one round. Times,
// allocations and bytes are per unit.
type sample struct {
	ns     float64 // elapsed time, or processor time if the workload says so
	allocs float64
	bytes  float64
	heap   float64 // heap kept per run
	stored float64 // bytes on disk
	trips  float64 // round trips per run
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

// paired calls the function argument of once a round, with the samples of the cells, and returns
// the median of the results. It returns NaN if a cell was not measured.
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
	// atLeast is the least time that a sample takes.
	atLeast time.Duration
	// stores selects the workloads of -stores.
	stores bool
	// markdown selects the form of the table.
	markdown bool
	// maxSize leaves out larger sizes. Zero means all sizes.
	maxSize int
}

// inTurn is the number of rounds that a workload runs before the next workload has
// its turn. Several turns spread the rounds of a workload over the whole time, so that
// a few slow seconds of the machine affect few of them.
const inTurn = 3

// stopped marks a cell whose sample exceeded the limit of its workload. It is not
// measured again.
const stopped = -1

// measure runs all contestants of all workloads at all sizes. It calls tell before
// each turn.
func measure(ctx context.Context, list []workload, s settings, tell func(w workload, first, last int)) ([]results, error) {
	all := make([]results, len(list))
	repeat := make([]map[cell]int, len(list))
	for _, late := range []bool{false, true} {
		for first := 0; first < s.rounds; first += inTurn {
			for i, w := range list {
				last := min(first+inTurn, s.of(w))
				if w.last != late || first >= last {
					continue
				}
				tell(w, first+1, last)
				if first == 0 {
					all[i], repeat[i] = make(results), make(map[cell]int)
				}
				if first == 0 && !w.warm {
					// The warm-up also finds how often each contestant has to run.
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

// of returns the number of rounds of a workload.
func (s settings) of(w workload) int {
	if w.rounds == 0 {
		return s.rounds
	}
	return min(s.rounds, w.rounds)
}

// round adds a sample of each contestant at each size. The map repeat holds the number
// of runs in a sample of each cell. For a cell without a number, round finds the number
// and adds it.
func round(ctx context.Context, w workload, s settings, r results, repeat map[cell]int) error {
	w.atLeast = s.atLeast
	for _, n := range w.sizes {
		if s.maxSize > 0 && n > s.maxSize {
			continue
		}
		for _, c := range w.contestants {
			if !c.does(n) {
				continue
			}
			at := cell{c.name, n}
			got, times, err := measureOnce(ctx, w, c, n, repeat[at])
			if err != nil {
				return fmt.Errorf("%s: %s at %d: %w", w.name, c.name, n, err)
			}
			repeat[at] = times
			r[at] = append(r[at], got)
		}
	}
	return nil
}

// measureOnce takes one sample of times runs. If times is zero, runAll decides the
// number. It returns the number of runs, or stopped.
func measureOnce(ctx context.Context, w workload, c contestant, n, times int) (got sample, ran int, err error) {
	tooSlow := sample{ns: math.Inf(1), allocs: math.NaN(), bytes: math.NaN()}
	if times == stopped {
		return tooSlow, stopped, nil
	}
	s, err := c.setUp(ctx, w, n)
	if err != nil {
		return sample{}, 0, err
	}
	if s.close != nil {
		defer func() { err = errors.Join(err, s.close()) }()
	}
	m := startMeter()
	ran, err = m.runAll(ctx, w, s, n, times)
	if err != nil || ran == stopped {
		return tooSlow, ran, err
	}
	got = m.stop(w, n, ran)
	if err := w.verify(w, n, m.last); err != nil {
		return sample{}, 0, fmt.Errorf("wrong final state: %w", err)
	}
	if s.keeps {
		got.heap = m.kept(s) / float64(ran)
	}
	if s.stored != nil {
		stored, err := s.stored(ctx)
		if err != nil {
			return sample{}, 0, err
		}
		got.stored = float64(stored) / float64(n*ran)
	}
	runtime.KeepAlive(s)
	return got, ran, nil
}

// A meter measures the runs of one sample.
type meter struct {
	began     time.Time
	processor time.Duration
	memory    runtime.MemStats

	// The sums of the figures in the outcomes of the runs.
	took  time.Duration
	units int
	trips int64
	heap  int64

	last outcome
}

func startMeter() *meter {
	m := &meter{}
	runtime.GC()
	runtime.ReadMemStats(&m.memory)
	m.processor, m.began = processorTime(), time.Now()
	return m
}

// runAll does times runs. If times is zero, it runs until w.atLeast has passed. It
// returns the number of runs, or stopped if the runs exceeded the limit of the
// workload.
func (m *meter) runAll(ctx context.Context, w workload, s subject, n, times int) (ran int, err error) {
	limited := ctx
	if w.limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, w.limit)
		defer cancel()
	}
	for ran = 0; ran < times || times == 0 && (ran == 0 || time.Since(m.began) < w.atLeast); ran++ {
		err := m.run(limited, s, n)
		switch {
		case err == nil:
		case limited.Err() != nil && ctx.Err() == nil:
			return stopped, nil
		default:
			return 0, err
		}
	}
	return ran, nil
}

// run does one run.
func (m *meter) run(ctx context.Context, s subject, n int) (err error) {
	if m.last, err = s.run(ctx); err != nil {
		return err
	}
	if m.last.units == 0 {
		m.last.units = n
	}
	m.took += m.last.took
	m.units += m.last.units
	m.trips += m.last.trips
	m.heap += m.last.heap
	return nil
}

// stop returns the sample after ran runs of size n.
func (m *meter) stop(w workload, n, ran int) sample {
	took, processor := time.Since(m.began), processorTime()-m.processor
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	units := float64(n * ran)
	got := sample{
		ns:     float64(took.Nanoseconds()) / units,
		allocs: float64(after.Mallocs-m.memory.Mallocs) / units,
		bytes:  float64(after.TotalAlloc-m.memory.TotalAlloc) / units,
		trips:  float64(m.trips) / float64(ran),
		heap:   float64(m.heap) / float64(ran),
	}
	switch {
	case m.took > 0:
		got.ns = float64(m.took.Nanoseconds()) / float64(m.units)
	case w.processorTime:
		got.ns = float64(processor.Nanoseconds()) / units
	}
	return got
}

// kept returns the increase of the live heap since the start of the sample, in bytes.
func (m *meter) kept(s subject) float64 {
	if s.trim != nil {
		s.trim()
	}
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc) - float64(m.memory.HeapAlloc)
}

// processorTime returns the user and system time of this process.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err)) // It fails only for invalid arguments.
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// medians returns the median of each field.
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
		trips:  of(func(s sample) float64 { return s.trips }),
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
