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
	stores := flag.Bool("stores", false, "measure the workloads on PostgreSQL and SQLite; DATABASE_URL names the server")
	only := flag.String("run", "", "measure only workloads whose name matches this `regexp`")
	rounds := flag.Int("rounds", 9, "how many rounds to take medians of, at most")
	short := flag.Bool("short", false, "two short rounds at small sizes: to see that it works, not to judge")
	markdown := flag.Bool("markdown", false, "print the table as Markdown, for docs/performance.md")
	flag.Parse()
	s := settings{rounds: max(*rounds, 1), atLeast: 200 * time.Millisecond}
	if *short {
		s = settings{rounds: 2, atLeast: 2 * time.Millisecond, maxSize: 1001}
	}
	s.stores, s.markdown = *stores, *markdown
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

// run measures the workloads whose names match, prints the table and reports
// whether all targets are met.
func run(ctx context.Context, only string, s settings) (met bool, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	list, about := workloads, machine(s)
	if s.stores {
		list = storeWorkloads
		name, err := server(ctx)
		if err != nil {
			return false, err
		}
		about += ", " + name
	}
	chosen := slices.DeleteFunc(slices.Clone(list), func(w workload) bool { return !match.MatchString(w.name) })
	if len(chosen) == 0 {
		return false, fmt.Errorf("no workload matches %q", only)
	}
	start := time.Now()
	all, err := measure(ctx, chosen, s, func(w workload, first, last int) {
		fmt.Fprintf(os.Stderr, "%4.0f s: %s, rounds %d to %d: %s\n", time.Since(start).Seconds(), w.name, first, last, w.what)
	})
	if err != nil {
		return false, err
	}
	var t table
	for i, w := range chosen {
		t.add(w, all[i])
	}
	fmt.Println(about)
	if s.markdown {
		fmt.Println()
		return t.markdown(os.Stdout)
	}
	return t.print(os.Stdout)
}
