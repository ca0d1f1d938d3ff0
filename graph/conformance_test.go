package graph_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

// TestConformance proves that the cases recorded from LangGraph have the same
// results here, on each store of this module. Their format is in testdata/conformance/README.md. WEFT_CASES
// names another folder of *.json and *.json.gz files to run instead.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("WEFT_CASES")
	if dir == "" {
		dir = filepath.Join("testdata", "conformance")
	}
	cases := readCases(t, dir)
	require.NotEmpty(t, cases, "cases in %s", dir)
	all := map[string]func(t testing.TB) checkpoint.Store{"postgres": func(t testing.TB) checkpoint.Store {
		return openPostgres(t, pgtest.DirectURL(t), pgtest.Schema(t))
	}}
	maps.Copy(all, stores)
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t) // the cases have threads of their own
			var passed atomic.Int64
			t.Cleanup(func() {
				t.Logf("conformance: %d cases, %d passed", len(cases), passed.Load())
				assert.EqualValues(t, len(cases), passed.Load(), "cases passed")
			})
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runCase(t, c, store)
					if !t.Failed() {
						passed.Add(1)
					}
				})
			}
		})
	}
}

type namedCase struct {
	name string
	raw  json.RawMessage
}

// readCases reads the cases of every file in the folder.
func readCases(t *testing.T, dir string) []namedCase {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var out []namedCase
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".json.gz") {
			continue
		}
		data, err := readFile(filepath.Join(dir, name))
		require.NoError(t, err, name)
		var raws []json.RawMessage
		require.NoError(t, json.Unmarshal(data, &raws), name)
		for i, raw := range raws {
			var head struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(raw, &head); err != nil || head.Name == "" {
				head.Name = fmt.Sprintf("%s#%d", name, i)
			}
			out = append(out, namedCase{head.Name, raw})
		}
	}
	return out
}

// readFile reads a file and decompresses it if its name ends with .gz.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
