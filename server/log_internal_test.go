package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// logged returns the lines of a log that have this message.
func logged(t *testing.T, log *bytes.Buffer, message string) (lines []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(log.Bytes()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(line, &fields))
		if fields["msg"] == message {
			delete(fields, "time")
			delete(fields, "took")
			lines = append(lines, fields)
		}
	}
	return lines
}

// The server logs one line when it drains, and one when it takes over the runs of the previous server. Both lines have
// the number of runs.
func TestDrainAndTakeOverAreLoggedWithTheNumberOfRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := graph.New("words", words)
		for _, name := range []string{"first", "second"} {
			b.Node(name, func(ctx context.Context, _ state.View) (state.Update, error) {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				return nil, ctx.Err()
			})
		}
		b.Edge(graph.Start, "first")
		b.Edge("first", "second")
		g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
		require.NoError(t, err)
		store := memruns.New()
		start := func() (*Server, *bytes.Buffer) {
			var log bytes.Buffer
			s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
			require.NoError(t, err)
			return s, &log
		}
		s, log := start()
		threads := []string{uuid.New(), uuid.New()}
		for _, thread := range []string{threads[0], threads[1], threads[1]} {
			w := ask(t, s, "POST", "/threads/"+thread+"/runs", `{"assistant_id":"words","if_not_exists":"create","input":{"words":"x"}}`)
			require.Equal(t, 200, w.Code, w.Body)
		}
		synctest.Wait()
		require.NoError(t, s.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()), "another call logs nothing")
		assert.Empty(t, logged(t, log, "server: took over the runs of the server before this one"))
		assert.Equal(t, []map[string]any{{"level": "INFO", "msg": "server: draining", "runs": 3.0}}, logged(t, log, "server: draining"))
		assert.Equal(t, []map[string]any{{"level": "INFO", "msg": "server: drained", "ended": 0.0, "handed_over": 3.0, "unfinished": 0.0}}, logged(t, log, "server: drained"))

		s, log = start()
		assert.Equal(t, []map[string]any{{"level": "INFO", "msg": "server: took over the runs of the server before this one", "begun": 2.0, "waiting": 1.0}},
			logged(t, log, "server: took over the runs of the server before this one"))
		found, _, err := store.Search(t.Context(), runs.Query{Kind: runs.Run})
		require.NoError(t, err)
		for i := range found {
			require.NoError(t, s.cancelRuns(t.Context(), []string{found[i].ID}, false, true))
		}
		require.NoError(t, s.Close(t.Context()))
		assert.Equal(t, []map[string]any{{"level": "INFO", "msg": "server: drained", "ended": 0.0, "handed_over": 0.0, "unfinished": 0.0}}, logged(t, log, "server: drained"))
	})
}

// If runs do not stop in time, the server logs a warning.
func TestRunsThatDoNotStopAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		g := wordGraph(t, func(context.Context, state.View) (state.Update, error) {
			<-end
			return nil, nil
		})
		var log bytes.Buffer
		s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: memruns.New(), Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		require.NoError(t, err)
		w := ask(t, s, "POST", "/threads/"+uuid.New()+"/runs", `{"assistant_id":"words","if_not_exists":"create","input":{"words":"x"}}`)
		require.Equal(t, 200, w.Code, w.Body)
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.Error(t, s.Close(ctx))
		assert.Equal(t, []map[string]any{{"level": "WARN", "msg": "server: drained", "ended": 0.0, "handed_over": 0.0, "unfinished": 1.0}}, logged(t, &log, "server: drained"))
		close(end)
		s.running.Wait()
	})
}

// If a node fails, the server logs one line for the run, with the name of the node and the error.
func TestAFailedNodeIsLoggedOnce(t *testing.T) {
	t.Parallel()
	b := graph.New("words", words)
	b.Node("brew", func(context.Context, state.View) (state.Update, error) { return nil, errors.New("the kettle is empty") })
	b.Edge(graph.Start, "brew")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	var log bytes.Buffer
	s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: memruns.New(), Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	require.NoError(t, err)
	thread := uuid.New()
	w := ask(t, s, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"words","if_not_exists":"create","input":{"words":"x"}}`)
	require.Contains(t, w.Body.String(), "__error__")
	require.NoError(t, s.Close(t.Context()))
	lines := logged(t, &log, "server: a run failed")
	require.Len(t, lines, 1)
	assert.NotEmpty(t, lines[0]["run"])
	delete(lines[0], "run")
	assert.Equal(t, map[string]any{
		"level": "WARN", "msg": "server: a run failed", "thread": thread, "user": "", "node": "brew", "error": "Error: the kettle is empty",
	}, lines[0])
}
