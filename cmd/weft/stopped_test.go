package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// stop stores one thread for each way in which a run can stop before its node "second". The id of the thread names the way.
func stop(t *testing.T, store checkpoint.Store) {
	t.Helper()
	type canceler struct{}
	steps := func(name string) *graph.Builder {
		b := graph.New(name, cups)
		b.Node("first", func(ctx context.Context, _ state.View) (state.Update, error) {
			if cancel, ok := ctx.Value(canceler{}).(func()); ok {
				cancel()
			}
			return state.Update{cups.Put(1)}, nil
		})
		b.Node("second", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Edge(graph.Start, "first")
		b.Edge("first", "second")
		return b
	}
	flat, err := steps("flat").Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	inner, err := steps("inner").Compile(graph.Options{})
	require.NoError(t, err)
	limited, err := steps("limited").Compile(graph.Options{MaxSteps: 1})
	require.NoError(t, err)
	around := func(sub *graph.Graph) *graph.Graph {
		b := graph.New("outer", cups)
		b.Subgraph("second", sub)
		b.Edge(graph.Start, "second")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		require.NoError(t, err)
		return g
	}
	for _, run := range []struct {
		thread string
		g      *graph.Graph
		o      graph.RunOptions
		cause  error
		want   error
	}{
		{"cancelled", flat, graph.RunOptions{}, context.Canceled, context.Canceled},
		{"drained", flat, graph.RunOptions{}, graph.ErrDrained, graph.ErrDrained},
		{"drained-inside", around(inner), graph.RunOptions{}, graph.ErrDrained, graph.ErrDrained},
		{"limited", flat, graph.RunOptions{MaxSteps: 1}, nil, graph.ErrMaxSteps},
		{"limited-inside", around(limited), graph.RunOptions{}, nil, graph.ErrMaxSteps},
		{"static", flat, graph.RunOptions{PauseBefore: []string{"second"}}, nil, nil},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if run.cause != nil {
			ctx = context.WithValue(ctx, canceler{}, func() { cancel(run.cause) })
		}
		_, err := run.g.Thread(run.thread).With(run.o).Invoke(ctx, cups.Put(0))
		require.ErrorIs(t, err, run.want, run.thread)
		cancel(nil)
	}
}

// A run that was cancelled or drained, or that reached its limit of supersteps, leaves due tasks: its thread is running
// for each command, and the doctor names it. At a static pause, the thread is paused. If a subgraph reached its limit, its
// node has failed.
func TestAThreadWhoseRunStoppedIsRunning(t *testing.T) {
	t.Parallel()
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			stop(t, p.store)
			m := newTerminal(t, nil)
			m.place = &p
			listed := func(flags ...string) (rows map[string][]string) {
				code, out, errs := m.call(append([]string{"threads", "list", "-json", "-db", "threads.db"}, flags...)...)
				require.Equal(t, exitDone, code, errs)
				rows = map[string][]string{}
				for line := range strings.Lines(out) {
					var row threadRow
					require.NoError(t, json.Unmarshal([]byte(line), &row))
					rows[row.Status] = append(rows[row.Status], row.ID)
				}
				return rows
			}
			all := map[string][]string{running: {"cancelled", "drained", "drained-inside", "limited"}, failed: {"limited-inside"}, paused: {"static"}}
			assert.Equal(t, all, listed())
			assert.Equal(t, all, listed("-status", "running,paused,failed"))
			assert.Empty(t, listed("-status", done))
			for status, threads := range all {
				if status != paused || name != "encrypted" { // an encrypted store lists no static pauses by status
					assert.Equal(t, map[string][]string{status: threads}, listed("-status", status))
				}
			}
			for _, thread := range all[running] {
				code, out, errs := m.call("threads", "show", thread, "-json", "-db", "threads.db")
				require.Equal(t, exitDone, code, errs)
				var v threadView
				require.NoError(t, json.Unmarshal([]byte(out), &v))
				assert.Equal(t, running, v.Status, thread)
			}
			m.now = func() time.Time { return time.Now().Add(time.Hour) }
			_, out, errs := m.call("doctor", "-json", "-db", "threads.db")
			var report struct{ Findings []finding }
			require.NoError(t, json.Unmarshal([]byte(out), &report), errs)
			for _, f := range report.Findings {
				if f.Check == "stuck" {
					assert.True(t, f.Fault)
					assert.Equal(t, "4 threads with due tasks and no run for longer than 15m: cancelled, drained, drained-inside, …", f.Text)
					return
				}
			}
			assert.Fail(t, "the doctor has not looked for threads that are stuck", out)
		})
	}
}
