package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// results maps every test that was run to "pass", "fail" or "skip".
type results map[test]string

// run runs the tests of all requirements, with one go command for each package.
func run(ctx context.Context, all []requirement) (results, error) {
	names := map[string][]string{}
	for _, s := range all {
		for _, t := range s.tests {
			top, _, _ := strings.Cut(t.name, "/")
			if !slices.Contains(names[t.pkg], top) {
				names[t.pkg] = append(names[t.pkg], top)
			}
		}
	}
	found := results{}
	for _, pkg := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[pkg])
		fmt.Fprintf(os.Stderr, "proof: %s: %d tests\n", pkg, len(names[pkg]))
		if err := runPackage(ctx, pkg, names[pkg], found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func runPackage(ctx context.Context, pkg string, names []string, found results) error {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout=20m", "-run=^("+strings.Join(names, "|")+")$", pkg)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed || ctx.Err() != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Test, Output string }
		if err := dec.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", pkg, err)
		}
		switch event.Action {
		case "pass", "fail", "skip":
			if event.Test != "" {
				found[test{pkg, event.Test}] = event.Action
			}
		case "output":
			if strings.Contains(event.Output, "--- FAIL") || strings.Contains(event.Output, "_test.go:") && event.Test == "" {
				fmt.Fprint(os.Stderr, event.Output)
			}
		}
	}
}

// report prints the requirements with their results. It returns an error unless all tests
// have passed.
func report(w io.Writer, all []requirement, found results) error {
	var b strings.Builder
	met := 0
	for _, s := range all {
		passed := true
		var lines []string
		for _, t := range s.tests {
			result := cmp.Or(found[t], "missing")
			passed = passed && result == "pass"
			lines = append(lines, fmt.Sprintf("%s (%s)", t, result))
		}
		mark := "FAIL"
		if passed {
			mark = "pass"
			met++
		}
		fmt.Fprintf(&b, "%s  %-6s %s\n             %s\n", mark, s.id, s.text, strings.Join(lines, "\n             "))
	}
	fmt.Fprintf(&b, "%d of %d requirements met\n", met, len(all))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if met < len(all) {
		return fmt.Errorf("%d requirements are not met", len(all)-met)
	}
	return nil
}
