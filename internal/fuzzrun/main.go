// Fuzzrun runs every fuzz target of the given packages and prints the results. Each target
// gets an equal share of the total time. The exit status is 1 if a target fails or if there
// is no target.
//
//	go run ./internal/fuzzrun -time 10m ./...
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

// A target is one fuzz function.
type target struct {
	pkg  string
	name string
}

func main() {
	total := flag.Duration("time", 10*time.Minute, "total time for all targets")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *total, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, total time.Duration, patterns []string) error {
	targets, err := list(ctx, patterns)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("no fuzz target found")
	}
	each := max(total/time.Duration(len(targets)), time.Second).Round(time.Second)
	fmt.Fprintf(out, "fuzz: %d targets, %v each\n", len(targets), each)
	failed := 0
	for _, t := range targets {
		if err := t.fuzz(ctx, out, each); err != nil {
			failed++
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(targets))
	}
	fmt.Fprintf(out, "fuzz: %d targets, all clean\n", len(targets))
	return nil
}

// list returns the fuzz targets of packages. It returns an error if a test does not compile.
func list(ctx context.Context, patterns []string) ([]target, error) {
	args := append([]string{"test", "-json", "-run=^$", "-list=^Fuzz"}, patterns...)
	out, err := exec.CommandContext(ctx, "go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("list targets: %w\n%s", err, out)
	}
	var targets []target
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Package, Output string }
		if err := dec.Decode(&event); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("list targets: %w", err)
		}
		if name := strings.TrimSpace(event.Output); event.Action == "output" && strings.HasPrefix(name, "Fuzz") {
			targets = append(targets, target{pkg: event.Package, name: name})
		}
	}
}

// progress matches a line that go test prints every few seconds during fuzzing.
var progress = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)

// timeEnded matches the report of a target whose only failure is the end of -fuzztime. The
// report of an input that fails has a nested FAIL.
var timeEnded = regexp.MustCompile(`(?m)^--- FAIL: \w+ \([0-9.]+s\)\n    context deadline exceeded\nFAIL\n`)

func (t target) fuzz(ctx context.Context, out io.Writer, d time.Duration) error {
	fmt.Fprintf(out, "%s %s ... ", t.pkg, t.name)
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+d.String(),
		"-fuzzminimizetime=20x", // without a limit, minimising would take most of the time
		t.pkg)
	// An interrupt also stops the workers of the fuzzer, but a kill does not.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	execs, found := "no", "0"
	if all := progress.FindAllStringSubmatch(string(text), -1); len(all) > 0 {
		last := all[len(all)-1]
		execs, found = last[1], last[2]
	}
	// Before Go 1.27, go test sometimes reports the end of -fuzztime as a failure
	// (https://go.dev/issue/75804).
	onTime := execs != "no" && timeEnded.Match(text)
	if err != nil && !onTime {
		fmt.Fprintf(out, "FAILED\n%s\n", text)
		return err
	}
	fmt.Fprintf(out, "clean: %s inputs tried, %s interesting\n", execs, found)
	return nil
}
