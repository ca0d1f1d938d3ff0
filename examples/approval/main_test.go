package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// do runs one command and returns its output.
func do(t *testing.T, path string, args ...string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), path, args, &out), "%q", args)
	return out.String()
}

const howToAnswer = "To answer: go run ./examples/approval answer yes   (or no)\n"

func TestAnswersInAnyCase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": "ordered: true\n", "Y": "ordered: true\n", " YES ": "ordered: true\n",
		"no": "ordered: false\n", "n": "ordered: false\n", "No": "ordered: false\n",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "approval.db")
			assert.Equal(t, "order 12 cups?\n"+howToAnswer, do(t, path))
			assert.Equal(t, want, do(t, path, "answer", text))
		})
	}
}

func TestOtherAnswersLeaveTheQuestionOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "approval.db")
	do(t, path, "order", "30")
	for _, text := range []string{"maybe", "", "yes please", "yesno", "0", "true"} {
		got := do(t, path, "answer", text)
		assert.Contains(t, got, "is neither yes nor no.\norder 30 cups?\n"+howToAnswer, "%q", text)
	}
	assert.Equal(t, "ordered: true\n", do(t, path, "answer", "yes"))
}

func TestNewOrderKeepsAnOpenQuestion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "approval.db")
	do(t, path)
	assert.Equal(t, "Answer the open question first.\norder 12 cups?\n"+howToAnswer, do(t, path, "order", "30"))
	do(t, path, "answer", "no")
	assert.Equal(t, "order 30 cups?\n"+howToAnswer, do(t, path, "order", "30"))
}

func TestBadCommands(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "approval.db")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"usage: ", []string{"order"}},
		{"usage: ", []string{"buy", "12"}},
		{"usage: ", []string{"answer", "yes", "now"}},
		{`"many" is not a number`, []string{"order", "many"}},
		{`"0" is not a number`, []string{"order", "0"}},
		{"no question is open; `go", []string{"answer", "yes"}},
	} {
		err := run(t.Context(), path, tt.args, &strings.Builder{})
		assert.ErrorContains(t, err, tt.want, "%q", tt.args)
	}
}
