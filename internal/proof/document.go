package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

const (
	begin = "<!-- statements -->\n"
	end   = "<!-- end of statements -->"
)

// table returns the requirements as a Markdown table.
func table(all []requirement) string {
	var b strings.Builder
	b.WriteString("| | requirement | test |\n| --- | --- | --- |\n")
	for _, s := range all {
		var tests []string
		for _, t := range s.tests {
			tests = append(tests, fmt.Sprintf("`%s` `%s`", strings.TrimPrefix(t.pkg, "./"), t.name))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.id, s.text, strings.Join(tests, "<br>"))
	}
	return b.String()
}

// document writes the table of the requirements into a file. If write is false, it only
// compares, and returns an error if the table in the file is not current.
func document(path string, all []requirement, write bool) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(data), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s does not contain the lines %q and %q, between which the table is written", path, strings.TrimSpace(begin), end)
	}
	now := table(all)
	if old == now {
		return nil
	}
	if !write {
		return errors.New(path + " is not current; run go run ./internal/proof -write")
	}
	return os.WriteFile(path, []byte(before+begin+now+end+after), 0o644) //nolint:gosec // every user may read this document
}
