package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const passing = `package fuzzed

import "testing"

func FuzzSound(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {})
}
`

// The fuzz target fails on its seed, so the test does not depend on random inputs.
const failing = `package fuzzed

import "testing"

func FuzzUnsound(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "a" {
			t.Fatal("found it")
		}
	})
}
`

func TestRunFuzzesEveryTarget(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		want    []string
		wantErr string
	}{
		{
			name:  "a clean target",
			files: map[string]string{"sound_test.go": passing},
			want:  []string{"fuzz: 1 targets, 1s each", "fuzzed FuzzSound ... clean: ", "fuzz: 1 targets, all clean"},
		},
		{
			name:    "one of two fails",
			files:   map[string]string{"sound_test.go": passing, "unsound_test.go": failing},
			want:    []string{"FuzzSound ... clean: ", "FuzzUnsound ... FAILED", "found it"},
			wantErr: "1 of 2 targets failed",
		},
		{
			name:    "no target",
			files:   map[string]string{"fuzzed.go": "package fuzzed\n"},
			wantErr: "no fuzz target found",
		},
		{
			name:    "a compile error",
			files:   map[string]string{"sound_test.go": passing, "broken.go": "package fuzzed\n\nvar x int = nil\n"},
			wantErr: "list targets",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(module(t, tt.files))
			var out strings.Builder
			err := run(t.Context(), &out, time.Second, []string{"./..."})
			for _, want := range tt.want {
				assert.Contains(t, out.String(), want)
			}
			if tt.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.wantErr)
			}
		})
	}
}

func TestEndOfTimeIsNoFailure(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		report string
		want   bool
	}{
		{
			name:   "the time ended",
			report: "--- FAIL: FuzzSound (1.03s)\n    context deadline exceeded\nFAIL\nexit status 1\n",
			want:   true,
		},
		{
			name: "an input exceeded a deadline of the target",
			report: "--- FAIL: FuzzSound (0.03s)\n    --- FAIL: FuzzSound (0.00s)\n" +
				"        sound_test.go:9: context deadline exceeded\n    \n" +
				"    Failing input written to testdata/fuzz/FuzzSound/1\nFAIL\nexit status 1\n",
		},
		{
			name:   "the fuzzer failed with more than the deadline",
			report: "--- FAIL: FuzzSound (1.03s)\n    context deadline exceeded\n    worker died\nFAIL\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			progress := "fuzz: elapsed: 1s, execs: 89554 (86894/sec), new interesting: 0 (total: 1)\n"
			assert.Equal(t, tt.want, timeEnded.MatchString(progress+tt.report))
		})
	}
}

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module fuzzed\n\ngo 1.26\n"
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}
