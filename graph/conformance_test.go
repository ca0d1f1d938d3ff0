package graph_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestConformance runs the cases recorded from LangGraph; their format is in
// testdata/conformance/README.md. WEFT_CASES names another folder of *.json and
// *.json.gz files to run instead.
func TestConformance(t *testing.T) {
	dir := os.Getenv("WEFT_CASES")
	if dir == "" {
		dir = filepath.Join("testdata", "conformance")
	}
	cases := readCases(t, dir)
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			passed := 0
			t.Cleanup(func() {
				t.Logf("conformance: %d cases, %d passed", len(cases), passed)
				if passed != len(cases) || len(cases) == 0 {
					t.Errorf("conformance: %d of %d cases passed", passed, len(cases))
				}
			})
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runCase(t, c, open(t))
					if !t.Failed() {
						mu.Lock()
						passed++
						mu.Unlock()
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

func readCases(t *testing.T, dir string) []namedCase {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []namedCase
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".json.gz") {
			continue
		}
		data, err := readFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var raws []json.RawMessage
		if err := json.Unmarshal(data, &raws); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
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
