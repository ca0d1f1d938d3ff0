//go:build unix

package deep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestProcessIsRestricted(t *testing.T) {
	t.Setenv("SECRET", "4711")
	dir := t.TempDir()
	p := deep.Process{Dir: dir, Timeout: time.Minute, MaxOutput: 1000}
	tests := []struct {
		name, command string
		code, dropped int
		want          string
	}{
		{"a command", "echo out; echo err >&2; exit 3", 3, 0, "out\nerr\n"},
		{"its folder", "pwd", 0, 0, dir + "\n"},
		{"its environment", "echo [$SECRET$HOME]", 0, 0, "[]\n"},
		{"quotes stay", `echo "$1" '$x' "a'b"`, 0, 0, " $x a'b\n"},
		{"much output", "i=0; while [ $i -lt 500 ]; do echo 0123456789012345678; i=$((i+1)); done", 0, 9000, strings.Repeat("0123456789012345678\n", 50)},
		{"not UTF-8", `printf '\377a'`, 0, 0, "�a"},
		{"an unknown command", "no-such-command-4711 2>/dev/null", 127, 0, ""},
		{"a signal", "kill -9 $$", -1, 0, ""},
		{"its memory", "ulimit -v", 0, 0, "4194304\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := p.Run(t.Context(), tt.command)
			require.NoError(t, err)
			if tt.want != "" {
				assert.Equal(t, tt.want, out.Text)
			}
			assert.Equal(t, tt.code, out.Code, out.Text)
			assert.Equal(t, tt.dropped, out.Dropped)
		})
	}
	_, err := deep.Process{}.Run(t.Context(), "true")
	require.ErrorContains(t, err, "Process.Dir is not set")
	_, err = deep.New("bot", llmtest.Echo{}, deep.Options{Runner: deep.Process{}})
	require.ErrorContains(t, err, `middleware "commands": deep: Process.Dir is not set`)
}

// A command and its children are killed after the timeout, and when the context ends. When a
// command ends, its background processes are killed.
func TestProcessIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	alive := filepath.Join(dir, "alive")
	child := "(while :; do echo x >> alive; sleep 0.01; done) & "
	ends := func() {
		t.Helper()
		size := func() int64 {
			info, err := os.Stat(alive)
			require.NoError(t, err)
			return info.Size()
		}
		last := int64(-1)
		require.Eventually(t, func() bool {
			now := size()
			same := now == last
			last = now
			return same
		}, 10*time.Second, 100*time.Millisecond, "the child is dead")
	}
	out, err := deep.Process{Dir: dir, Timeout: 300 * time.Millisecond}.Run(t.Context(), child+"wait")
	require.NoError(t, err)
	assert.Contains(t, out.Text, "(killed after 300ms)")
	assert.Equal(t, -1, out.Code)
	ends()

	out, err = deep.Process{Dir: dir}.Run(t.Context(), child+"until [ -s alive ]; do :; done; echo done")
	require.NoError(t, err)
	assert.Equal(t, "done\n", out.Text)
	ends()

	ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	_, err = deep.Process{Dir: dir}.Run(ctx, child+"wait")
	require.ErrorIs(t, err, context.DeadlineExceeded, "the deadline of the caller")
	ends()

	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = deep.Process{Dir: dir}.Run(ctx, child+"wait")
	require.ErrorIs(t, err, context.Canceled)
	ends()
}

// A deep agent runs only commands that a person has approved.
func TestCommandsWaitForAYes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := llmtest.NewScript(
		llmtest.Calls(named(1, deep.CommandTool, map[string]any{"command": "touch yes"}), named(2, deep.CommandTool, map[string]any{"command": "touch no"})),
		llmtest.Say("done"))
	g, err := deep.New("shell", model, deep.Options{
		Runner: deep.Process{Dir: dir},
		Agent:  agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}},
	})
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	files := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	require.Empty(t, files())
	open, err := agent.Approval.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 2)
	for _, q := range open {
		answer := q.Prompt.Reject("no")
		if strings.Contains(string(q.Prompt.Arguments), "yes") {
			answer = q.Prompt.Approve()
		}
		snap, err = g.Thread("1").Invoke(t.Context(), agent.Approval.Answer(q.ID, answer))
		require.NoError(t, err)
	}
	assert.True(t, snap.Done())
	assert.Equal(t, []string{"yes"}, files())
}

// Invalid options are an error before a command starts.
func TestProcessRefusesNegativeLimits(t *testing.T) {
	t.Parallel()
	for _, p := range []deep.Process{{Dir: t.TempDir(), Timeout: -1}, {Dir: t.TempDir(), MaxOutput: -1}} {
		_, err := p.Run(t.Context(), "echo hello")
		require.ErrorContains(t, err, "negative")
	}
}
