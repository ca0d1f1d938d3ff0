package eval_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/eval"
)

// reportOf returns a report of cases, each with one value for each repeat.
func reportOf(values ...[]float64) *eval.Report {
	r := &eval.Report{Scorers: []string{"s"}}
	for i, repeats := range values {
		for j, v := range repeats {
			r.Results = append(r.Results, eval.Result{Case: fmt.Sprint(i), Repeat: j + 1, Scores: map[string]eval.Score{"s": {Value: v, Reason: "because"}}})
		}
	}
	return r
}

// The quantiles equal the published tables of Student's t distribution.
func TestIntervalUsesStudentsDistribution(t *testing.T) {
	t.Parallel()
	for cases, quantile := range map[int]float64{2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 8: 2.365, 11: 2.228, 31: 2.042, 101: 1.984} {
		values := make([][]float64, cases)
		sum, squares := 0.0, 0.0
		for i := range values {
			v := 0.5 + 0.01*float64(i%2)
			values[i] = []float64{v}
			sum += v
		}
		m := sum / float64(cases)
		for _, v := range values {
			squares += (v[0] - m) * (v[0] - m)
		}
		half := quantile * math.Sqrt(squares/float64(cases-1)) / math.Sqrt(float64(cases))
		got := reportOf(values...).Summaries()[0].Score
		assert.InDelta(t, m, got.Mean, 1e-9)
		assert.InDelta(t, half, got.High-m, half*0.002, "%d cases", cases)
		assert.InDelta(t, half, m-got.Low, half*0.002, "%d cases", cases)
	}
}

// 95 percent of the intervals contain the true mean, for any number of repeats.
func TestIntervalCoversTheTrueMean(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, repeats := range []int{1, 8} {
		const trials = 4000
		covered := 0
		for range trials {
			values := make([][]float64, 12)
			for i := range values {
				ability := 0.5 + 0.1*random.NormFloat64() // the true mean of this case
				for range repeats {
					values[i] = append(values[i], ability+0.05*random.NormFloat64())
				}
			}
			if s := reportOf(values...).Summaries()[0].Score; s.Low <= 0.5 && 0.5 <= s.High {
				covered++
			}
		}
		assert.InDelta(t, 0.95, float64(covered)/trials, 0.012, "%d repeats", repeats)
	}
}

func TestOneCaseHasNoInterval(t *testing.T) {
	t.Parallel()
	s := reportOf([]float64{0.5, 0.7}).Summaries()[0]
	assert.InDelta(t, 0.6, s.Score.Mean, 1e-9)
	assert.Zero(t, s.Score.Low, "limited to the values of a score")
	assert.InDelta(t, 1, s.Score.High, 0)
	var b strings.Builder
	require.NoError(t, reportOf([]float64{0.5, 0.7}).WriteTable(&b))
	assert.Regexp(t, `s +0\.600 +- +1 +2 +0\n`, b.String())
}

type failures struct{ list []string }

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

func TestRequire(t *testing.T) {
	t.Parallel()
	good := reportOf([]float64{1}, []float64{0.8})
	good.Require(t, "s", 0.9)
	var f failures
	good.Require(&f, "s", 0.91)
	good.Require(&f, "other", 0)
	good.Results = append(good.Results, eval.Result{Case: "2", Repeat: 1, Error: "no route"})
	good.Require(&f, "s", 0)
	(&eval.Report{Scorers: []string{"s"}}).Require(&f, "s", 0)
	require.Len(t, f.list, 4)
	assert.Contains(t, f.list[0], "0.900 of 2 cases is less than 0.910\n  1, repeat 1: 0.800: because")
	assert.Contains(t, f.list[1], `no scorer "other"; there are s`)
	assert.Contains(t, f.list[2], `case "2", repeat 1: no route`)
	assert.Contains(t, f.list[3], "no run has a score")
}

func TestReportIsTheSameAfterAFile(t *testing.T) {
	t.Parallel()
	report, err := eval.Run(t.Context(), dataSet(3), echo, []eval.Scorer{eval.Exact()}, eval.Options{Repeats: 2})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, report.WriteFile(path))
	again, err := eval.ReadReport(path)
	require.NoError(t, err)
	assert.Equal(t, report, again)
	_, err = eval.ReadReport(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorContains(t, err, "none.json")
}

func TestJUnitIsReadByAParser(t *testing.T) {
	t.Parallel()
	r := reportOf([]float64{1, 0.5}, []float64{0})
	r.Results[1].Answer = "a < b & \x1b[31mred\x00"
	r.Results = append(r.Results, eval.Result{Case: "c\x01", Repeat: 1, Error: "no route"})
	var b strings.Builder
	require.NoError(t, r.WriteJUnit(&b, map[string]float64{"s": 0.6}))
	var read struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
				Error   *string `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal([]byte(b.String()), &read))
	require.Len(t, read.Suites, 1)
	s := read.Suites[0]
	assert.Equal(t, []any{"s", 4, 2, 1}, []any{s.Name, s.Tests, s.Failures, s.Errors})
	assert.Nil(t, s.Cases[0].Failure)
	require.NotNil(t, s.Cases[1].Failure)
	assert.Contains(t, *s.Cases[1].Failure, "a < b & \uFFFD[31mred\uFFFD")
	require.NotNil(t, s.Cases[3].Error)
	assert.Contains(t, *s.Cases[3].Error, "no route")
	assert.Equal(t, "c\uFFFD, repeat 1", s.Cases[3].Name)
}

// Compare finds a small difference between two runs whose cases differ much, because it
// pairs the cases.
func TestComparePairsTheCases(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var before, after [][]float64
	for range 40 {
		v := random.Float64() * 0.9
		before, after = append(before, []float64{v}), append(after, []float64{v + 0.02 + 0.01*random.Float64()})
	}
	a, b := reportOf(before...), reportOf(after...)
	list, err := eval.Compare(a, b)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.True(t, list[0].Significant())
	assert.InDelta(t, 0.025, list[0].Difference.Mean, 0.003)
	assert.Len(t, list[0].Better, 40)
	assert.Greater(t, a.Summaries()[0].Score.High, b.Summaries()[0].Score.Low, "the intervals of the runs overlap")

	same, err := eval.Compare(a, a)
	require.NoError(t, err)
	assert.False(t, same[0].Significant())
	assert.Equal(t, 40, same[0].Same)
}

func TestCompareNamesWhatItCannotPair(t *testing.T) {
	t.Parallel()
	a, b := reportOf([]float64{1}, []float64{0.5}, []float64{0.2}), reportOf([]float64{1}, []float64{0.1})
	b.Results[0].Case, b.Results[1].Case = "new", "1"
	list, err := eval.Compare(a, b)
	require.NoError(t, err)
	assert.Equal(t, []string{"new", "0", "2"}, list[0].Unpaired)
	assert.Equal(t, []string{"1"}, list[0].Worse)
	assert.False(t, list[0].Significant(), "one case says nothing")
	var out strings.Builder
	require.NoError(t, eval.WriteComparison(&out, list))
	assert.Contains(t, out.String(), "s: the difference is not significant\n  worse: 1\n")

	b.Scorers = []string{"other"}
	_, err = eval.Compare(a, b)
	require.ErrorIs(t, err, eval.ErrInvalid)
	c := reportOf([]float64{1})
	c.Results[0].Case = "elsewhere"
	_, err = eval.Compare(a, c)
	require.ErrorIs(t, err, eval.ErrInvalid)
	_, err = eval.Compare(nil, a)
	require.ErrorIs(t, err, eval.ErrInvalid)
	_, err = eval.Compare(a, nil)
	require.ErrorIs(t, err, eval.ErrInvalid)
}
