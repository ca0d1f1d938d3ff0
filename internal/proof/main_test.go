package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lines = "# id, promise, package, test\n" +
	"S1-1\tit counts\t./graph\tTestCount\n" +
	"S0-2\tit ends\t./graph\tTestEnd\n" +
	"S0-1\tit begins\t./graph\tTestBegin/first\r\n" +
	"S0-1\tit begins\t./state\tExampleBegin\n\n"

func TestParse(t *testing.T) {
	t.Parallel()
	all, err := parse(lines)
	require.NoError(t, err)
	require.NoError(t, arrange(all))
	var ids []string
	for _, s := range all {
		ids = append(ids, s.id)
	}
	if got := strings.Join(ids, " "); got != "S0-1 S0-2 S1-1" || len(all[0].tests) != 2 {
		t.Errorf("got %s, %v", got, all[0].tests)
	}
	for bad, want := range map[string]string{
		"S0-1\tx\t./graph":                                 "3 columns",
		"S-1\tx\t./graph\tTestX":                           "no id",
		"S0-1\t \t./graph\tTestX":                          "says nothing",
		"S0-1\tx|y\t./graph\tTestX":                        "bar",
		"S0-1\tx\tgraph\tTestX":                            "no package",
		"S0-1\tx\t./graph\tcheckX":                         "no test",
		"S0-1\tx\t./graph\tTestX|TestY":                    "no test",
		"S0-1\tx\t./graph\tTestX\nS0-1\tx\t./graph\tTestX": "twice",
	} {
		if _, err := parse(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", bad, err, want)
		}
	}
	both, err := parse("S0-1\tx\t./graph\tTestX\nS0-1\ty\t./graph\tTestY\nS0-1\tx\t./graph\tTestZ")
	if err != nil || len(both) != 1 || both[0].text != "x; y" || len(both[0].tests) != 3 {
		t.Errorf("got %+v, %v", both, err)
	}
	gap, err := parse("S0-1\tx\t./graph\tTestX\nS0-3\tx\t./graph\tTestX")
	require.NoError(t, err)
	if err := arrange(gap); err == nil || !strings.Contains(err.Error(), "S0-2 should") {
		t.Errorf("a gap: got %v", err)
	}
}

// What it runs are real tests: those of this package that pass, are not there, or are skipped.
func TestRun(t *testing.T) {
	all := []statement{
		{"A1-1", "tables are read", []test{{"./internal/proof", "TestParse"}}},
		{"A1-2", "what is not there is not proved", []test{{"./internal/proof", "TestParse"}, {"./internal/proof", "TestNothing"}}},
		{"A1-3", "what is skipped is not proved", []test{{"./internal/proof", "TestSkipped"}}},
	}
	found := results{}
	t.Chdir(filepath.Join("..", ".."))
	require.NoError(t, runPackage(t.Context(), "./internal/proof", []string{"TestParse", "TestNothing", "TestSkipped"}, found))
	var out bytes.Buffer
	err := report(&out, all, found)
	if err == nil || err.Error() != "2 statements are not proved" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"pass  A1-1", "FAIL  A1-2", "TestNothing (not there)", "TestSkipped (skip)", "1 of 3 statements proved"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s\nwant %q in it", out.String(), want)
		}
	}
}

// TestSkipped is for TestRun.
func TestSkipped(t *testing.T) { t.Skip("TestRun wants one that is skipped") }

func TestDocument(t *testing.T) {
	t.Parallel()
	all, err := parse(lines)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(path, []byte("before\n"+begin+end+"\nafter\n"), 0o600))
	if err := document(path, all, false); err == nil || !strings.Contains(err.Error(), "not current") {
		t.Errorf("got %v", err)
	}
	for _, write := range []bool{true, false} {
		assert.NoError(t, document(path, all, write), "write %v", write)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), "| S0-1 | it begins | `graph` `TestBegin/first`<br>`state` `ExampleBegin` |\n") || !strings.HasSuffix(string(data), end+"\nafter\n") {
		t.Errorf("got %s, %v", data, err)
	}
	require.NoError(t, os.WriteFile(path, []byte("no place"), 0o600))
	if err := document(path, all, true); err == nil || !strings.Contains(err.Error(), "no place") {
		t.Errorf("got %v", err)
	}
}
