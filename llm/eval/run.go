package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Target answers a case. Several goroutines call it at the same time.
type Target func(ctx context.Context, c Case) (Answer, error)

// Options configures [Run]. The zero value runs each case once, four at a time.
type Options struct {
	// Repeats is the number of runs of each case. Zero means 1.
	Repeats int
	// Concurrency is the number of runs at a time. Zero means 4.
	Concurrency int
	// Timeout limits each run with its scorers. Zero means no limit.
	Timeout time.Duration
	// Progress, if not nil, is called after each run with the number of finished runs and of all runs. Calls do not
	// overlap.
	Progress func(done, all int)
}

const (
	defaultConcurrency = 4
	maxRepeats         = 10_000
)

// Run runs the target on all cases and scores the answers. An error or a panic of the target or of a scorer is stored
// in [Result.Error]. Run returns [ErrInvalid] for invalid options, and the error of ctx if ctx ends; the report then
// has the runs that have ended.
func Run(ctx context.Context, cases []Case, target Target, scorers []Scorer, o Options) (*Report, error) {
	if err := o.complete(cases, scorers); err != nil {
		return nil, fmt.Errorf("eval: run: %w", err)
	}
	if target == nil {
		return nil, fmt.Errorf("eval: run: the target is nil: %w", ErrInvalid)
	}
	report := &Report{Began: time.Now().UTC()}
	for _, s := range scorers {
		report.Scorers = append(report.Scorers, s.Name())
	}
	all := len(cases) * o.Repeats
	results := make([]*Result, all)
	next := make(chan int)
	var group sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(o.Concurrency, all) {
		group.Go(func() {
			for i := range next {
				r := runOne(ctx, cases[i/o.Repeats], target, scorers, o.Timeout)
				if ctx.Err() != nil {
					continue // discard r: the run can have failed because ctx ended
				}
				r.Repeat = i%o.Repeats + 1
				results[i] = &r
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, all)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range all {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	group.Wait()
	for _, r := range results {
		if r != nil {
			report.Results = append(report.Results, *r)
		}
	}
	if err := ctx.Err(); err != nil {
		return report, fmt.Errorf("eval: run: %d of %d runs ended: %w", len(report.Results), all, err)
	}
	return report, nil
}

func (o *Options) complete(cases []Case, scorers []Scorer) error {
	if o.Repeats < 0 || o.Repeats > maxRepeats || o.Concurrency < 0 || o.Timeout < 0 {
		return fmt.Errorf("repeats %d (at most %d), concurrency %d, timeout %v: %w", o.Repeats, maxRepeats, o.Concurrency, o.Timeout, ErrInvalid)
	}
	o.Repeats = max(1, o.Repeats)
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if len(cases) == 0 || len(scorers) == 0 {
		return fmt.Errorf("%d cases and %d scorers: %w", len(cases), len(scorers), ErrInvalid)
	}
	seen := map[string]bool{}
	for _, s := range scorers {
		if s == nil {
			return fmt.Errorf("a scorer is nil: %w", ErrInvalid)
		}
		if s.Name() == "" || seen[s.Name()] {
			return fmt.Errorf("two scorers have the name %q, or it is empty; wrap one with NewScorer: %w", s.Name(), ErrInvalid)
		}
		seen[s.Name()] = true
	}
	seen = map[string]bool{}
	for _, c := range cases {
		if c.Name == "" || seen[c.Name] {
			return fmt.Errorf("two cases have the name %q, or it is empty: %w", c.Name, ErrInvalid)
		}
		seen[c.Name] = true
	}
	return nil
}

func runOne(ctx context.Context, c Case, target Target, scorers []Scorer, timeout time.Duration) (r Result) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	r = Result{Case: c.Name}
	began := time.Now()
	answer, err := call("the target", func() (Answer, error) { return target(ctx, c) })
	r.Seconds = time.Since(began).Seconds()
	if err != nil {
		r.Error = fmt.Sprint(err) // err may be a nil pointer
		return r
	}
	r.Answer, r.Usage = answer.Text, answer.Usage
	for _, s := range scorers {
		score, err := call("the scorer", func() (Score, error) { return s.Score(ctx, c, answer) })
		if err == nil && !(score.Value >= 0 && score.Value <= 1) { // also NaN
			err = fmt.Errorf("the score %v is not between 0 and 1: %w", score.Value, ErrInvalid)
		}
		if err != nil {
			r.Error = fmt.Sprintf("%s: %v", s.Name(), err)
			r.Scores = nil
			return r
		}
		if r.Scores == nil {
			r.Scores = map[string]Score{}
		}
		r.Scores[s.Name()] = score
	}
	return r
}

// call calls f, and returns a panic as an error.
func call[T any](name string, f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v\n%s", name, p, debug.Stack())
		}
	}()
	return f()
}

// A Result is one run of one case.
type Result struct {
	// Case is the name of the case, and Repeat the number of the run, from 1.
	Case   string `json:"case"`
	Repeat int    `json:"repeat"`
	// Answer is the text of the answer.
	Answer string `json:"answer,omitempty"`
	// Scores has a score by the name of each scorer. It is nil if the run failed.
	Scores map[string]Score `json:"scores,omitempty"`
	// Error, if not empty, says why the run has no scores: the target or a scorer failed.
	Error string `json:"error,omitempty"`
	// Seconds is the time of the target.
	Seconds float64 `json:"seconds"`
	// Usage counts the tokens of the target.
	Usage llm.Usage `json:"usage,omitzero"`
}

var errNoScores = errors.New("no run has a score")

// mean returns the mean and the standard deviation of values.
func mean(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v
	}
	mean /= float64(max(1, len(values)))
	for _, v := range values {
		deviation += (v - mean) * (v - mean)
	}
	if len(values) > 1 {
		deviation = math.Sqrt(deviation / float64(len(values)-1))
	}
	return mean, deviation
}
