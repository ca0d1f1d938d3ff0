package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"
)

func main() {
	only := flag.String("run", "", "measure only workloads that match this `regexp`")
	rounds := flag.Int("rounds", 15, "how many rounds to take medians of")
	short := flag.Bool("short", false, "few short rounds, small sizes: to see that it works, not to judge")
	flag.Parse()
	s := settings{rounds: max(*rounds, 1), atLeast: 200 * time.Millisecond}
	if *short {
		s = settings{rounds: 2, atLeast: 2 * time.Millisecond, maxSize: 1001}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	met, err := run(ctx, *only, s)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// run measures the workloads that match, prints the table and says whether all
// targets are met.
func run(ctx context.Context, only string, s settings) (met bool, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	chosen := slices.DeleteFunc(slices.Clone(workloads), func(w workload) bool { return !match.MatchString(w.name) })
	if len(chosen) == 0 {
		return false, fmt.Errorf("no workload matches %q", only)
	}
	all, err := measure(ctx, chosen, s, func(w workload, first, last int) {
		fmt.Fprintf(os.Stderr, "measuring %s, rounds %d to %d of %d: %s\n", w.name, first, last, s.rounds, w.what)
	})
	if err != nil {
		return false, err
	}
	var t table
	for i, w := range chosen {
		t.add(w, all[i])
	}
	fmt.Println(machine(s))
	return t.print(os.Stdout)
}
