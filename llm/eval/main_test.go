package eval

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMainExitsWithTheVerdict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, before, after, junit := filepath.Join(dir, "data.jsonl"), filepath.Join(dir, "before.json"), filepath.Join(dir, "after.json"), filepath.Join(dir, "junit.xml")
	require.NoError(t, os.WriteFile(data, []byte("{\"name\":\"a\",\"input\":\"x\",\"want\":\"x\"}\n{\"name\":\"b\",\"input\":\"y\",\"want\":\"z\"}\n"), 0o600))
	suite := Suite{
		Data: data, Scorers: []Scorer{Exact()},
		Target: func(_ context.Context, c Case) (Answer, error) { return Answer{Text: c.Text()}, nil },
	}
	broken := suite
	broken.Target = func(context.Context, Case) (Answer, error) { return Answer{}, errors.New("no route") }
	for _, test := range []struct {
		name        string
		suite       Suite
		args        []string
		code        int
		out, errors string
	}{
		{"plain", suite, []string{"-repeats", "3", "-out", before}, 0, "exact   0.500", "6 of 6 runs"},
		{"compared", suite, []string{"-compare", before, "-out", after, "-junit", junit}, 0, "exact: the difference is not significant", ""},
		{"minimum", suite, []string{"-min", "exact=0.5"}, 0, "", ""},
		{"below", suite, []string{"-min", "exact=0.6"}, 1, "lowest by exact", "exact: the mean 0.500 is less than 0.600"},
		{"failed", broken, nil, 1, "FAILED a, repeat 1: no route", "2 runs failed"},
		{"no such scorer", suite, []string{"-min", "exat=0.6"}, 2, "", `no scorer "exat"`},
		{"no number", suite, []string{"-min", "exact"}, 2, "", "want the name of a scorer"},
		{"no data", suite, []string{"-data", filepath.Join(dir, "none.jsonl")}, 2, "", "none.jsonl"},
		{"no report", suite, []string{"-compare", data}, 2, "", "read the report"},
		{"an argument", suite, []string{"now"}, 2, "", `"now"`},
		{"help", suite, []string{"-h"}, 0, "", "-junit"},
	} {
		var out, errs bytes.Buffer
		code := test.suite.run(t.Context(), test.args, &out, &errs)
		assert.Equal(t, test.code, code, "%s: %s", test.name, errs.String())
		assert.Contains(t, out.String(), test.out, test.name)
		assert.Contains(t, errs.String(), test.errors, test.name)
	}
	for _, path := range []string{after, junit} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Positive(t, info.Size(), path)
	}
}
