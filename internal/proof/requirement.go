package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A requirement of an example consists of an id, a text and the tests that prove it.
type requirement struct {
	id, text string
	tests    []test
}

// A test identifies a Go test. The name is TestName or TestName/subtest.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + " " + t.name }

var (
	idForm   = regexp.MustCompile(`^[A-Z][0-9]+-[0-9]+$`)
	testForm = regexp.MustCompile(`^(Test|Example|Fuzz)[^\s|^$()*+?\[\]\\]*$`)
)

// parse reads lines of four columns, separated by tabs: id, requirement, package, test.
func parse(text string) ([]requirement, error) {
	var all []requirement
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimRight(line, "\r"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 4 {
			return nil, fmt.Errorf("line %d has %d columns, want 4: id, requirement, package, test", i+1, len(columns))
		}
		id, what, t := columns[0], strings.TrimSpace(columns[1]), test{columns[2], columns[3]}
		switch {
		case !idForm.MatchString(id):
			return nil, fmt.Errorf("line %d: %q is not an id such as S0-1", i+1, id)
		case what == "" || strings.ContainsAny(what, "|\r"):
			return nil, fmt.Errorf("line %d: %s has no text, or its text contains a bar or a carriage return", i+1, id)
		case !strings.HasPrefix(t.pkg, "./"):
			return nil, fmt.Errorf("line %d: %q is not a package such as ./graph", i+1, t.pkg)
		case !testForm.MatchString(t.name):
			return nil, fmt.Errorf("line %d: %q is not a test such as TestName/subtest", i+1, t.name)
		}
		at := slices.IndexFunc(all, func(s requirement) bool { return s.id == id })
		if at < 0 {
			all = append(all, requirement{id: id, text: what})
			at = len(all) - 1
		}
		if parts := strings.Split(all[at].text, "; "); !slices.Contains(parts, what) && all[at].text != what {
			all[at].text += "; " + what
		}
		if slices.Contains(all[at].tests, t) {
			return nil, fmt.Errorf("line %d: %s names %s twice", i+1, id, t)
		}
		all[at].tests = append(all[at].tests, t)
	}
	return all, nil
}

// arrange sorts requirements by id. It returns an error if the numbers of a group have a gap.
func arrange(all []requirement) error {
	slices.SortFunc(all, func(a, b requirement) int {
		ga, na := numbered(a.id)
		gb, nb := numbered(b.id)
		if c := strings.Compare(ga, gb); c != 0 {
			return c
		}
		return na - nb
	})
	before, want := "", 1
	for _, s := range all {
		group, n := numbered(s.id)
		if group != before {
			before, want = group, 1
		}
		if n != want {
			return fmt.Errorf("%[2]s-%[3]d is missing before %[1]s", s.id, group, want)
		}
		want++
	}
	return nil
}

func numbered(id string) (group string, n int) {
	group, text, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(text)
	if err != nil { // impossible, since parse has checked the id
		return group, 0
	}
	return group, n
}
