// Proof runs the tests that prove what the examples promise, and prints each
// statement with its tests and whether they passed. It exits with status 1 if one of
// them did not.
//
//	go run ./internal/proof            run them and print the table
//	go run ./internal/proof -write     write the table into examples/README.md
//	go run ./internal/proof -check     say whether it is current
//
// The statements are in examples/*/requirements.tsv, a line for each test: id, what is
// promised, package, test. Two tests of one statement are two lines with one id,
// which say the same, or each a part of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	write := flag.Bool("write", false, "write the table into examples/README.md")
	check := flag.Bool("check", false, "say whether the table in examples/README.md is current")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := do(ctx, *write, *check); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

func do(ctx context.Context, write, check bool) error {
	files, err := filepath.Glob(filepath.Join("examples", "*", "requirements.tsv"))
	if err != nil {
		return err
	}
	var all []statement
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		some, err := parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return errors.New("there are no statements: run it in the folder of go.mod")
	}
	if err := arrange(all); err != nil {
		return err
	}
	if write || check {
		return document(filepath.Join("examples", "README.md"), all, write)
	}
	results, err := run(ctx, all)
	if err != nil {
		return err
	}
	return report(os.Stdout, all, results)
}
