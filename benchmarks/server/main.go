// Server measures Weft's server beside the reference server, LangGraph's server for development, with
// the same graphs and the same load, and beside a bare writer of server-sent events.
//
//	go run ./server [-for 5s] [-streams 10s] [-markdown]
//
// The program starts each server as a process of its own. It installs the reference from PyPI in a
// folder of the user's cache, which needs python3. The exit status is 1 when a target is missed and 2
// when a measurement fails. The program needs Linux, since it reads /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	child := flag.String("serve", "", "serve as a child of this program: weft or floor")
	load := flag.Duration("for", 5*time.Second, "how long each number of clients sends runs")
	streams := flag.Duration("streams", 10*time.Second, "how long streams are read; 10m for the heap")
	markdown := flag.Bool("markdown", false, "print the table as Markdown, for docs/performance.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *child != "" {
		if err := serve(ctx, *child); err != nil {
			fmt.Fprintln(os.Stderr, "server:", err)
			os.Exit(2)
		}
		return
	}
	t := &table{markdown: *markdown}
	if err := measure(ctx, t, *load, *streams); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(2)
	}
	if missed := t.print(os.Stdout); missed > 0 {
		os.Exit(1)
	}
}

// measure runs all measurements.
func measure(ctx context.Context, t *table, load, streams time.Duration) error {
	reference, err := startReference(ctx)
	if err != nil {
		return err
	}
	weft, err := startChild(ctx, "weft")
	if err != nil {
		return errors.Join(err, reference.stop())
	}
	floor, err := startChild(ctx, "floor")
	if err != nil {
		return errors.Join(err, reference.stop(), weft.stop())
	}
	err = measureMemory(ctx, t, weft, reference) // first: a process keeps memory that it has used once
	if err == nil {
		err = measureRuns(ctx, t, weft, reference, load)
	}
	if err == nil {
		err = measureStreams(ctx, t, weft, floor, streams)
	}
	return errors.Join(err, reference.stop(), weft.stop(), floor.stop())
}
