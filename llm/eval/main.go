package eval

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Suite is an evaluation that [Main] runs.
type Suite struct {
	// Data is the path of the data set. The flag -data overrides it.
	Data    string
	Target  Target
	Scorers []Scorer
	// Minimums has the lowest mean that passes, for each name of a scorer. The flag -min overrides it.
	Minimums map[string]float64
	// Options are the defaults of the flags -repeats, -concurrency and -timeout.
	Options Options
}

// Main is the main function of a command that runs an evaluation:
//
//	go run ./evaluate -repeats 5 -out now.json -compare before.json -junit report.xml -min exact=0.9
//
// It writes a table to standard output and the progress to standard error. It exits with 0 if all runs have scores and all
// minimums are met, with 1 if not, and with 2 if the evaluation could not run. The flag -h lists the flags.
func Main(s Suite) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := s.run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errBelow means that the evaluation ran and did not pass.
var errBelow = errors.New("the evaluation did not pass")

func (s Suite) run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := s.evaluate(ctx, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errBelow):
		_, _ = fmt.Fprintln(stderr, err)
		return 1
	}
	_, _ = fmt.Fprintln(stderr, err)
	return 2
}

type mainFlags struct {
	out, junit, compare string
	minimums            map[string]float64
}

func (s *Suite) parse(args []string, stderr io.Writer) (f mainFlags, err error) {
	f.minimums = map[string]float64{}
	for name, minimum := range s.Minimums {
		f.minimums[name] = minimum
	}
	set := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&s.Data, "data", s.Data, "the data set, a `file` in JSON Lines")
	set.IntVar(&s.Options.Repeats, "repeats", s.Options.Repeats, "how often to run each case")
	set.IntVar(&s.Options.Concurrency, "concurrency", s.Options.Concurrency, "how many runs at a time (default 4)")
	set.DurationVar(&s.Options.Timeout, "timeout", s.Options.Timeout, "the limit of each run (default none)")
	set.StringVar(&f.out, "out", "", "write the report as JSON to this `file`")
	set.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this `file`")
	set.StringVar(&f.compare, "compare", "", "compare with the report in this `file`, which -out wrote")
	set.Func("min", "the lowest mean of a scorer that passes, as `scorer=0.9`; may be repeated", func(text string) error {
		name, number, _ := strings.Cut(text, "=")
		minimum, err := strconv.ParseFloat(number, 64)
		if err != nil || !(minimum >= 0 && minimum <= 1) {
			return errors.New("want the name of a scorer, = and a number between 0 and 1")
		}
		f.minimums[name] = minimum
		return nil
	})
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("eval: unexpected argument %q: %w", set.Arg(0), ErrInvalid)
	}
	for name := range f.minimums {
		if !slices.ContainsFunc(s.Scorers, func(one Scorer) bool { return one.Name() == name }) {
			return f, fmt.Errorf("eval: -min: there is no scorer %q: %w", name, ErrInvalid)
		}
	}
	return f, nil
}

func (s *Suite) evaluate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, err := s.parse(args, stderr)
	if err != nil {
		return err
	}
	var before *Report
	if f.compare != "" { // fail before the models are called
		if before, err = ReadReport(f.compare); err != nil {
			return err
		}
	}
	cases, err := ReadFile(s.Data)
	if err != nil {
		return err
	}
	if s.Options.Progress == nil {
		s.Options.Progress = progressTo(stderr)
	}
	report, err := Run(ctx, cases, s.Target, s.Scorers, s.Options)
	if report != nil {
		err = errors.Join(err, report.write(stdout, f))
	}
	if err != nil {
		return err
	}
	if before != nil {
		list, err := Compare(before, report)
		if err == nil {
			err = WriteComparison(stdout, list)
		}
		if err != nil {
			return err
		}
	}
	return report.pass(f.minimums)
}

// progressTo returns a function that writes the progress once a second, and at the end.
func progressTo(w io.Writer) func(done, all int) {
	last := time.Now()
	return func(done, all int) {
		if now := time.Now(); done == all || now.Sub(last) >= time.Second {
			last = now
			_, _ = fmt.Fprintf(w, "%d of %d runs\n", done, all)
		}
	}
}

// write writes the table and the files. An incomplete report is written too, because its answers were paid for.
func (r *Report) write(stdout io.Writer, f mainFlags) error {
	errs := []error{r.WriteTable(stdout)}
	if f.out != "" {
		errs = append(errs, r.WriteFile(f.out))
	}
	if f.junit != "" {
		file, err := os.Create(f.junit)
		if err == nil {
			err = errors.Join(r.WriteJUnit(file, f.minimums), file.Close())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pass returns errBelow, with the reasons, if a run failed or a mean is below its minimum.
func (r *Report) pass(minimums map[string]float64) error {
	var reasons []string
	for _, s := range r.Summaries() {
		minimum, ok := minimums[s.Scorer]
		if s.Failed > 0 && len(reasons) == 0 {
			reasons = append(reasons, fmt.Sprintf("%d runs failed", s.Failed))
		}
		if ok && !(s.Score.Mean >= minimum) {
			reasons = append(reasons, fmt.Sprintf("%s: the mean %.3f is less than %.3f", s.Scorer, s.Score.Mean, minimum))
		}
	}
	if len(reasons) > 0 {
		return fmt.Errorf("%w: %s", errBelow, strings.Join(reasons, "; "))
	}
	return nil
}
