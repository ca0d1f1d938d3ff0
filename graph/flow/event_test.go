package flow_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/state"
)

// The events of a flow name the task that started, finished, failed, asked a question or
// emitted a value. Events of a called graph have the task in their path.
func TestEventsNameTheirTasks(t *testing.T) {
	t.Parallel()
	inside := oneNode(t, func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "inside")
		return nil, nil
	})
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		if _, err := flow.Do(ctx, "a", func(ctx context.Context) (int, error) {
			graph.Emit(ctx, "token")
			return 1, nil
		}); err != nil {
			return 0, err
		}
		if _, err := flow.Call(ctx, "g", inside, number.Get); err != nil {
			return 0, err
		}
		n, err := flow.Do(ctx, "q", func(ctx context.Context) (int, error) { return ask.Wait(ctx, "?") })
		if err != nil {
			return 0, err
		}
		return flow.Do(ctx, "f", func(context.Context) (int, error) { return 1 / (n - 1), nil })
	}, options())
	require.NoError(t, err)
	thread := f.Thread("1")
	events := func(input ...state.Write) (lines []string, snap *graph.Snapshot, err error) {
		for e, eerr := range thread.Stream(t.Context(), input...) {
			if eerr != nil {
				return lines, snap, eerr
			}
			switch e := e.(type) {
			case graph.TaskStarted, graph.TaskFinished, graph.Emitted:
				line, _, _ := strings.Cut(e.String(), " at ")
				line = strings.TrimSuffix(line[strings.Index(line, ": ")+2:], " with []")
				lines = append(lines, line)
			case graph.RunEnded:
				snap = e.Snapshot
			}
		}
		return lines, snap, nil
	}
	lines, snap, err := events(f.Input(1))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"flow: starts",
		"flow~a: starts", "flow~a: emits token", "flow~a: finishes",
		"flow~g: starts", "flow~g/node: starts", "flow~g/node: emits inside", "flow~g/node: finishes", "flow~g: finishes",
		"flow~q: starts", "flow~q: waits for an answer",
		"flow: waits for an answer",
	}, lines)
	open, err := ask.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	lines, _, err = events(ask.Answer(open[0].ID, 1))
	require.ErrorContains(t, err, "integer divide by zero")
	assert.Equal(t, []string{
		"flow: starts", "flow~a: finished in an earlier run,", "flow~g: finished in an earlier run,",
		"flow~q: starts", "flow~q: finishes", "flow~f: starts",
	}, trimmed(lines[:6]))
	assert.Contains(t, lines[6], "flow~f: fails: ")
}

func trimmed(lines []string) []string {
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], " with []")
	}
	return lines
}
