// Proof runs the tests that prove the requirements of the examples. It prints each
// requirement with its tests and their results. The exit status is 1 unless every test has
// passed.
//
//	go run ./internal/proof            run the tests and print the results
//	go run ./internal/proof -write     write the table into internal/proof/README.md
//	go run ./internal/proof -check     fail if the table is not current
//
// The requirements are in the files examples/*/requirements.tsv. A line has the columns id,
// requirement, package and test. A requirement with several tests has a line for each test,
// with the same id. The texts of these lines are equal, or are parts of the requirement.
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
	write := flag.Bool("write", false, "write the table into internal/proof/README.md")
	check := flag.Bool("check", false, "fail if the table in internal/proof/README.md is not current")
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
	var all []requirement
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
		return errors.New("no requirements found: run this command in the folder of go.mod")
	}
	if err := arrange(all); err != nil {
		return err
	}
	if write || check {
		return document(filepath.Join("internal", "proof", "README.md"), all, write)
	}
	results, err := run(ctx, all)
	if err != nil {
		return err
	}
	return report(os.Stdout, all, results)
}
