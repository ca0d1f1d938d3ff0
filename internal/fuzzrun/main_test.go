package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sound = `package fuzzed

import "testing"

func FuzzSound(f *testing.F) {
	f.Add("a")
	f.Fuzz(func(t *testing.T, s string) {})
}
`

// The seed alone makes it fail, so that the test need not wait for luck.
const unsound = `package fuzzed

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

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		want    []string
		wantErr string
	}{
		{
			name:  "a clean target",
			files: map[string]string{"sound_test.go": sound},
			want:  []string{"fuzz: 1 targets, 1s each", "fuzzed FuzzSound ... clean: ", "fuzz: 1 targets, all clean"},
		},
		{
			name:    "one of two fails",
			files:   map[string]string{"sound_test.go": sound, "unsound_test.go": unsound},
			want:    []string{"FuzzSound ... clean: ", "FuzzUnsound ... FAILED", "found it"},
			wantErr: "1 of 2 targets failed",
		},
		{
			name:    "no target",
			files:   map[string]string{"fuzzed.go": "package fuzzed\n"},
			wantErr: "no fuzz target found",
		},
		{
			name:    "what does not compile",
			files:   map[string]string{"sound_test.go": sound, "broken.go": "package fuzzed\n\nvar x int = nil\n"},
			wantErr: "list targets",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(module(t, tt.files))
			var out strings.Builder
			err := run(t.Context(), &out, time.Second, []string{"./..."})
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got output %q, want it to contain %q", out.String(), want)
				}
			}
			if got := errorText(err); (tt.wantErr == "") != (got == "") || !strings.Contains(got, tt.wantErr) {
				t.Errorf("got error %q, want %q", got, tt.wantErr)
			}
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

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
