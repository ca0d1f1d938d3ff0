package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A result is the outcome of the tests of a project.
type result struct {
	project string
	took    time.Duration
	tests   []outcome
	failed  int
}

// An outcome is the result of one test.
type outcome struct {
	client string // the suite
	name   string
	failed bool
}

// A suite is a suite of a JUnit report, with tests and inner suites, or the report itself.
type suite struct {
	Name   string  `xml:"name,attr"`
	Class  string  `xml:"classname,attr"`
	Suites []suite `xml:"testsuite"`
	Tests  []struct {
		Name    string    `xml:"name,attr"`
		Class   string    `xml:"classname,attr"`
		Failure *struct{} `xml:"failure"`
		Error   *struct{} `xml:"error"`
		Skipped *struct{} `xml:"skipped"`
	} `xml:"testcase"`
}

// read reads a report. A test that is skipped counts as failed.
func (r *result) read(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// Node writes the control characters of coloured errors, which XML must not contain.
	data = bytes.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\n\r", r) {
			return -1
		}
		return r
	}, data)
	var top suite
	if err := xml.Unmarshal(data, &top); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	r.add(top, r.project)
	if len(r.tests) == 0 {
		return fmt.Errorf("%s has no tests", file)
	}
	return nil
}

func (r *result) add(s suite, client string) {
	for _, t := range s.Tests {
		o := outcome{client: client, name: t.Name, failed: t.Failure != nil || t.Error != nil || t.Skipped != nil}
		if module, ok := strings.CutPrefix(t.Class, "test_"); ok { // pytest names the module
			o.client = "Python: " + strings.ReplaceAll(module, "_", " ")
		}
		if o.failed {
			r.failed++
		}
		r.tests = append(r.tests, o)
	}
	for _, inner := range s.Suites {
		name := client
		if client == r.project && inner.Name != "" && inner.Name != "pytest" { // the outermost suite is the client
			name = inner.Name
		}
		r.add(inner, name)
	}
}

// report prints a table with a line for each client.
func report(w io.Writer, store string, all []result) error {
	lines := []string{"clients, stores: " + store, "project\tclient\ttests\tpassed\tfailed"}
	var tests, failed int
	for _, r := range all {
		var names []string
		for _, t := range r.tests {
			if !slices.Contains(names, t.client) {
				names = append(names, t.client)
			}
		}
		for _, name := range names {
			var n, bad int
			var broken []string
			for _, t := range r.tests {
				if t.client != name {
					continue
				}
				n++
				if t.failed {
					bad++
					broken = append(broken, t.name)
				}
			}
			lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%d\t%s", r.project, name, n, n-bad, strings.Join(broken, "; ")))
			tests, failed = tests+n, failed+bad
		}
	}
	lines = append(lines, fmt.Sprintf("clients: %d tests, %d passed", tests, tests-failed), "")
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(out, strings.Join(lines, "\n")); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}
