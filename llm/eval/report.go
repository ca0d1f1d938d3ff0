package eval

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/llm"
)

// A Report has the results of [Run], in the order of the cases.
type Report struct {
	// Began is the start time of the run.
	Began time.Time `json:"began"`
	// Scorers are the names of the scorers.
	Scorers []string `json:"scorers"`
	Results []Result `json:"results"`
}

// A Summary is the result of one scorer over all cases.
type Summary struct {
	Scorer string
	// Score is the mean over the cases. The score of a case is the mean over its repeats. The sample of the interval is
	// the cases, not the repeats.
	Score Interval
	// Cases is the number of cases with a score. Failed is the number of runs without one.
	Cases, Failed int
}

// Summaries returns a summary for each scorer.
func (r *Report) Summaries() []Summary {
	failed := 0
	for _, one := range r.Results {
		if one.Error != "" {
			failed++
		}
	}
	list := make([]Summary, len(r.Scorers))
	for i, name := range r.Scorers {
		_, means := r.caseMeans(name)
		list[i] = Summary{Scorer: name, Cases: len(means), Failed: failed}
		if len(means) > 0 {
			list[i].Score = intervalOf(means, 0, 1)
		}
	}
	return list
}

// caseMeans returns the mean score of each case that has one, in the order of the results.
func (r *Report) caseMeans(scorer string) (cases []string, means []float64) {
	values := map[string][]float64{}
	for _, one := range r.Results {
		score, ok := one.Scores[scorer]
		if !ok {
			continue
		}
		if _, ok := values[one.Case]; !ok {
			cases = append(cases, one.Case)
		}
		values[one.Case] = append(values[one.Case], score.Value)
	}
	for _, c := range cases {
		m, _ := mean(values[c])
		means = append(means, m)
	}
	return cases, means
}

// Usage returns the total tokens and the total seconds of the target in all runs.
func (r *Report) Usage() (total llm.Usage, seconds float64) {
	for _, one := range r.Results {
		total = total.Add(one.Usage)
		seconds += one.Seconds
	}
	return total, seconds
}

// TB is the part of [testing.TB] that [Report.Require] needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Require fails a test if the mean of a scorer is less than a minimum, or if a run failed. The message lists the worst
// cases.
func (r *Report) Require(t TB, scorer string, minimum float64) {
	t.Helper()
	i := slices.Index(r.Scorers, scorer)
	if i < 0 {
		t.Errorf("eval: there is no scorer %q; there are %s", scorer, strings.Join(r.Scorers, ", "))
		return
	}
	s := r.Summaries()[i]
	for _, one := range r.Results {
		if one.Error != "" {
			t.Errorf("eval: case %q, repeat %d: %s", one.Case, one.Repeat, one.Error)
		}
	}
	switch {
	case s.Cases == 0:
		t.Errorf("eval: %s: %v", scorer, errNoScores)
	case s.Score.Mean < minimum:
		t.Errorf("eval: %s: the mean %.3f of %d cases is less than %.3f\n%s", scorer, s.Score.Mean, s.Cases, minimum, r.worst(scorer))
	}
}

const maxWorst = 10

// worst lists the runs with the lowest scores, one on each line.
func (r *Report) worst(scorer string) string {
	list := slices.Clone(r.Results)
	list = slices.DeleteFunc(list, func(one Result) bool { return one.Scores == nil || one.Scores[scorer].Value == 1 })
	slices.SortStableFunc(list, func(a, b Result) int {
		return cmp.Compare(a.Scores[scorer].Value, b.Scores[scorer].Value)
	})
	var b strings.Builder
	for _, one := range list[:min(len(list), maxWorst)] {
		fmt.Fprintf(&b, "  %s, repeat %d: %.3f: %s\n", one.Case, one.Repeat, one.Scores[scorer].Value, one.Scores[scorer].Reason)
	}
	if more := len(list) - maxWorst; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

// WriteTable writes a summary of each scorer, the failures and the worst answers.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	rows := [][]any{{"scorer", "mean", "95 % interval", "cases", "runs", "failed"}}
	for _, s := range r.Summaries() {
		rows = append(rows, []any{s.Scorer, decimals(s.Cases, s.Score.Mean), s.Score.bounds(s.Cases), s.Cases, len(r.Results), s.Failed})
	}
	writeColumns(&b, rows)
	usage, seconds := r.Usage()
	fmt.Fprintf(&b, "%.1f s of answers, %d tokens read, %d written\n", seconds, usage.Input, usage.Output)
	for _, one := range r.Results {
		if one.Error != "" {
			fmt.Fprintf(&b, "FAILED %s, repeat %d: %s\n", one.Case, one.Repeat, one.Error)
		}
	}
	for _, name := range r.Scorers {
		if worst := r.worst(name); worst != "" {
			fmt.Fprintf(&b, "lowest by %s:\n%s", name, worst)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeColumns writes rows of equal length in aligned columns.
func writeColumns(b *strings.Builder, rows [][]any) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(fmt.Sprint(cell)))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*v  ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func decimals(cases int, x float64) string {
	if cases == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", x)
}

func (i Interval) bounds(cases int) string {
	if cases < 2 {
		return "-"
	}
	return fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
}

// WriteFile writes the report as JSON to a file, for [ReadReport].
func (r *Report) WriteFile(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("eval: write the report: %w", err)
	}
	return nil
}

// ReadReport reads a report that [Report.WriteFile] wrote.
func ReadReport(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("eval: read the report: %w", err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("eval: read the report %s: %w: %w", path, ErrInvalid, err)
	}
	if len(r.Scorers) == 0 {
		return nil, fmt.Errorf("eval: read the report %s: it has no scorers: %w", path, ErrInvalid)
	}
	return &r, nil
}

// WriteJUnit writes the report in the XML format of JUnit, for continuous integration. Each scorer is a test suite, and
// each run is a test case. A test case fails if its score is less than the minimum of the scorer, or 0 if there is no
// minimum. A run without scores is an error.
func (r *Report) WriteJUnit(w io.Writer, minimums map[string]float64) error {
	type problem struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Seconds float64  `xml:"time,attr"`
		Failure *problem `xml:"failure"`
		Error   *problem `xml:"error"`
	}
	type suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Began    string     `xml:"timestamp,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	var all struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	for _, name := range r.Scorers {
		s := suite{Name: name, Tests: len(r.Results), Began: r.Began.Format("2006-01-02T15:04:05")}
		for _, one := range r.Results {
			c := testCase{Name: fmt.Sprintf("%s, repeat %d", printable(one.Case), one.Repeat), Class: name, Seconds: one.Seconds}
			score, minimum := one.Scores[name], minimums[name]
			switch {
			case one.Error != "":
				s.Errors++
				c.Error = &problem{"the run failed", printable(one.Error)}
			case score.Value < minimum || score.Value == 0:
				s.Failures++
				c.Failure = &problem{fmt.Sprintf("the score is %.3f", score.Value), printable(score.Reason + "\n\n" + one.Answer)}
			}
			s.Cases = append(s.Cases, c)
		}
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	}
	if err != nil {
		return fmt.Errorf("eval: write JUnit: %w", err)
	}
	return nil
}

// printable replaces the control characters that XML 1.0 does not allow.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return '\uFFFD'
		}
		return r
	}, text)
}
