package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/eval"
)

func TestReadNamesTheLine(t *testing.T) {
	t.Parallel()
	cases, err := eval.Read(strings.NewReader("{\"name\":\"a\",\"input\":\"x\",\"want\":1}\n\n{\"input\":{\"q\":1},\"calls\":[{\"name\":\"search\"}]}\n"))
	require.NoError(t, err)
	require.Len(t, cases, 2)
	assert.Equal(t, "a", cases[0].Name)
	assert.Equal(t, "x", cases[0].Text())
	assert.Equal(t, "1", cases[0].WantText())
	assert.Equal(t, "line 3", cases[1].Name)
	assert.JSONEq(t, `{"q":1}`, cases[1].Text())
	for name, test := range map[string]struct{ data, want string }{
		"no JSON":       {"{\"input\":1}\nhello", "line 2"},
		"unknown field": {`{"input":1,"inputs":2}`, "inputs"},
		"no input":      {`{"name":"a"}`, "input is missing"},
		"two on a line": {`{"input":1} {"input":2}`, "text after"},
		"same name":     {"{\"name\":\"a\",\"input\":1}\n{\"name\":\"a\",\"input\":2}", "the case on line 1"},
		"a taken name":  {"{\"name\":\"line 2\",\"input\":1}\n{\"input\":2}", "line 2"},
		"nothing":       {"\n\n", "no cases"},
	} {
		_, err := eval.Read(strings.NewReader(test.data))
		require.ErrorIs(t, err, eval.ErrInvalid, name)
		require.ErrorContains(t, err, test.want, name)
	}
	_, err = eval.ReadFile("testdata/none.jsonl")
	require.ErrorContains(t, err, "testdata/none.jsonl")
}

func dataSet(n int) []eval.Case {
	cases := make([]eval.Case, n)
	for i := range cases {
		cases[i] = eval.Case{Name: fmt.Sprint("case ", i), Input: json.RawMessage(fmt.Sprint(i)), Want: json.RawMessage(fmt.Sprint(i))}
	}
	return cases
}

func echo(_ context.Context, c eval.Case) (eval.Answer, error) {
	return eval.Answer{Text: c.Text(), Usage: llm.Usage{Input: 2, Output: 1, Total: 3}}, nil
}

func TestTheDataSetOfTheGuideIsRead(t *testing.T) {
	t.Parallel()
	cases, err := eval.ReadFile("testdata/delivery.jsonl")
	require.NoError(t, err)
	require.Len(t, cases, 2)
	assert.Equal(t, "3 days", cases[0].WantText())
	assert.Equal(t, "search", cases[0].Calls[0].Name)
}

func TestRunRepeatsEachCase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		slow := func(ctx context.Context, c eval.Case) (eval.Answer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return echo(ctx, c)
		}
		var steps []int
		o := eval.Options{Repeats: 3, Concurrency: 5, Progress: func(done, all int) {
			assert.Equal(t, 30, all)
			steps = append(steps, done)
		}}
		began := time.Now()
		report, err := eval.Run(t.Context(), dataSet(10), slow, []eval.Scorer{eval.Exact()}, o)
		require.NoError(t, err)
		assert.Equal(t, 6*time.Second, time.Since(began), "five at a time")
		assert.EqualValues(t, 5, most.Load())
		require.Len(t, report.Results, 30)
		require.Len(t, steps, 30)
		assert.Equal(t, 30, steps[29])
		for i, r := range report.Results {
			assert.Equal(t, fmt.Sprint("case ", i/3), r.Case)
			assert.Equal(t, i%3+1, r.Repeat)
			assert.InDelta(t, 1, r.Seconds, 1e-9)
			assert.Equal(t, map[string]eval.Score{"exact": {Value: 1}}, r.Scores)
		}
		usage, seconds := report.Usage()
		assert.Equal(t, llm.Usage{Input: 60, Output: 30, Total: 90}, usage)
		assert.InDelta(t, 30, seconds, 1e-9)
		assert.Equal(t, []eval.Summary{{Scorer: "exact", Cases: 10, Score: eval.Interval{Mean: 1, Low: 1 - (1 - math.Pow(0.025, 0.1)), High: 1}}}, report.Summaries())
	})
}

func TestRunReportsFailures(t *testing.T) {
	t.Parallel()
	target := func(ctx context.Context, c eval.Case) (eval.Answer, error) {
		switch c.Name {
		case "case 1":
			return eval.Answer{}, errors.New("no route")
		case "case 2":
			panic("a bug")
		case "case 3":
			<-ctx.Done()
			return eval.Answer{}, ctx.Err()
		}
		return echo(ctx, c)
	}
	wild := eval.NewScorer("wild", func(_ context.Context, c eval.Case, _ eval.Answer) (eval.Score, error) {
		switch c.Name {
		case "case 4":
			return eval.Score{Value: 1.5}, nil
		case "case 5":
			panic("another")
		}
		return eval.Score{Value: 0.5}, nil
	})
	synctest.Test(t, func(t *testing.T) {
		report, err := eval.Run(t.Context(), dataSet(7), target, []eval.Scorer{eval.Exact(), wild}, eval.Options{Timeout: time.Minute})
		require.NoError(t, err)
		for i, want := range []string{"", "no route", "the target panicked: a bug", "deadline exceeded", "1.5 is not between 0 and 1", "wild: the scorer panicked: another", ""} {
			r := report.Results[i]
			assert.Contains(t, r.Error, want, r.Case)
			assert.Equal(t, want == "", r.Scores != nil, r.Case)
		}
		for _, s := range report.Summaries() {
			assert.Equal(t, 2, s.Cases, s.Scorer)
			assert.Equal(t, 5, s.Failed, s.Scorer)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		slow := func(ctx context.Context, c eval.Case) (eval.Answer, error) {
			select {
			case <-time.After(time.Minute):
				return echo(ctx, c)
			case <-ctx.Done():
				return eval.Answer{}, ctx.Err()
			}
		}
		report, err := eval.Run(ctx, dataSet(10), slow, []eval.Scorer{eval.Exact()}, eval.Options{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "4 of 10 runs ended")
		assert.Len(t, report.Results, 4, "the answers that came are kept, and no failure that the context caused")
	})
}

func TestRunRejectsWhatItCannotRun(t *testing.T) {
	t.Parallel()
	one := []eval.Scorer{eval.Exact()}
	for name, f := range map[string]func() (*eval.Report, error){
		"no cases":   func() (*eval.Report, error) { return eval.Run(t.Context(), nil, echo, one, eval.Options{}) },
		"no scorers": func() (*eval.Report, error) { return eval.Run(t.Context(), dataSet(1), echo, nil, eval.Options{}) },
		"same scorer": func() (*eval.Report, error) {
			return eval.Run(t.Context(), dataSet(1), echo, append(one, one...), eval.Options{})
		},
		"same case": func() (*eval.Report, error) {
			return eval.Run(t.Context(), append(dataSet(1), dataSet(1)...), echo, one, eval.Options{})
		},
		"a case no name": func() (*eval.Report, error) {
			return eval.Run(t.Context(), make([]eval.Case, 1), echo, one, eval.Options{})
		},
		"repeats": func() (*eval.Report, error) {
			return eval.Run(t.Context(), dataSet(1), echo, one, eval.Options{Repeats: -1})
		},
		"concurrency": func() (*eval.Report, error) {
			return eval.Run(t.Context(), dataSet(1), echo, one, eval.Options{Concurrency: -1})
		},
	} {
		_, err := f()
		require.ErrorIs(t, err, eval.ErrInvalid, name)
	}
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// If a target or scorer returns a nil pointer as its error, the run of the case fails, and the program
// does not panic.
func TestNilPointerAsErrorIsAFailure(t *testing.T) {
	t.Parallel()
	var none *nilError
	good := func(context.Context, eval.Case) (eval.Answer, error) { return eval.Answer{Text: "1"}, nil }
	bad := func(context.Context, eval.Case) (eval.Answer, error) { return eval.Answer{}, none }
	scorer := eval.NewScorer("bad", func(context.Context, eval.Case, eval.Answer) (eval.Score, error) { return eval.Score{}, none })
	cases := []eval.Case{{Name: "a", Input: []byte(`1`), Want: []byte(`1`)}}
	for name, run := range map[string]func() (*eval.Report, error){
		"target": func() (*eval.Report, error) {
			return eval.Run(t.Context(), cases, bad, []eval.Scorer{eval.Exact()}, eval.Options{})
		},
		"scorer": func() (*eval.Report, error) {
			return eval.Run(t.Context(), cases, good, []eval.Scorer{scorer}, eval.Options{})
		},
	} {
		r, err := run()
		require.NoError(t, err, name)
		assert.Contains(t, r.Results[0].Error, "nil", name)
	}
}

func TestRunNeedsATargetAndScorers(t *testing.T) {
	t.Parallel()
	cases := []eval.Case{{Name: "a", Input: []byte(`1`)}}
	target := func(context.Context, eval.Case) (eval.Answer, error) { return eval.Answer{}, nil }
	_, err := eval.Run(t.Context(), cases, nil, []eval.Scorer{eval.Exact()}, eval.Options{})
	require.ErrorIs(t, err, eval.ErrInvalid)
	require.ErrorContains(t, err, "the target is nil")
	_, err = eval.Run(t.Context(), cases, target, []eval.Scorer{nil}, eval.Options{})
	require.ErrorIs(t, err, eval.ErrInvalid)
	require.ErrorContains(t, err, "a scorer is nil")
}

// If a few cases have equal scores, the interval of their mean is not empty, and the difference of two
// cases is never significant.
func TestEqualScoresOfFewCasesAreNotCertain(t *testing.T) {
	t.Parallel()
	report := func(n int, value float64) *eval.Report {
		r := &eval.Report{Scorers: []string{"s"}}
		for i := range n {
			r.Results = append(r.Results, eval.Result{Case: fmt.Sprint(i), Repeat: 1, Scores: map[string]eval.Score{"s": {Value: value}}})
		}
		return r
	}
	for _, tt := range []struct {
		n         int
		value     float64
		low, high float64
	}{
		{2, 1, 0.158, 1}, {2, 0, 0, 0.842}, {10, 1, 0.692, 1}, {10, 0.5, 0.346, 0.654}, {100, 1, 0.964, 1},
	} {
		got := report(tt.n, tt.value).Summaries()[0].Score
		assert.InDelta(t, tt.low, got.Low, 0.001, "%+v", tt)
		assert.InDelta(t, tt.high, got.High, 0.001, "%+v", tt)
	}
	for n, want := range map[int]bool{2: false, 3: false, 5: false, 6: true, 50: true} {
		list, err := eval.Compare(report(n, 0), report(n, 1))
		require.NoError(t, err)
		assert.Equal(t, want, list[0].Significant(), "%d cases", n)
	}
	list, err := eval.Compare(report(50, 1), report(50, 1))
	require.NoError(t, err)
	assert.False(t, list[0].Significant())
}

// The text of the JSON value null is "null".
func TestNullIsAText(t *testing.T) {
	t.Parallel()
	cases, err := eval.Read(strings.NewReader(`{"input":null,"want":null}`))
	require.NoError(t, err)
	assert.Equal(t, "null", cases[0].Text())
	assert.Equal(t, "null", cases[0].WantText())
}
