package middleware_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// The second action of a plan needs the result of the first one. The second and the third one need
// the approval of a person. Each answer is given to a new agent with the store, opened again, as in
// another process. No action runs twice, and the rejected one does not run.
func TestPlanWaitsForAPersonAndResumes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.db")
	var finds atomic.Int32
	var removed []string // one call at a time
	find := tools.New("find", "Finds.", func(context.Context, struct{}) ([]string, error) {
		return []string{fmt.Sprint("id", finds.Add(1))}, nil
	})
	remove := tools.New("remove", "Removes.", func(_ context.Context, in struct {
		ID string `json:"id"`
	},
	) (string, error) {
		removed = append(removed, in.ID)
		return "removed " + in.ID, nil
	}).Annotate(tools.Annotations{Destructive: true})
	open := func(test func(th *graph.Thread)) {
		store, err := sqlitecheckpoint.Open(t.Context(), path, sqlitecheckpoint.Options{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, store.Close()) }()
		set, err := tools.NewSet(find, remove)
		require.NoError(t, err)
		model := llmtest.NewScript(llmtest.Call("run_plan", `{"actions":[{"id":"call_1","tool":"find"},{"id":"b","tool":"remove","args":{"id":"${call_1.0}"}},{"id":"c","tool":"remove","args":{"id":"x"},"depends_on":["b"]}]}`))
		if finds.Load() > 0 {
			model = llmtest.NewScript(llmtest.Say("done"))
		}
		a, err := agent.New("a", model, nil, agent.Options{
			Use:   []agent.Middleware{middleware.Plan(set, tools.Named("remove"))},
			Graph: graph.Options{Checkpoints: store},
		})
		require.NoError(t, err)
		test(a.Thread("1"))
	}
	var snap *graph.Snapshot
	open(func(th *graph.Thread) {
		var err error
		snap, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
	})
	for i, want := range []string{`{"id":"id1"}`, `{"id":"x"}`} {
		asked, err := agent.Approval.Open(snap)
		require.NoError(t, err)
		require.Len(t, asked, 1)
		assert.JSONEq(t, want, string(asked[0].Prompt.Arguments))
		answer := asked[0].Prompt.Approve()
		if i == 1 {
			answer = asked[0].Prompt.Reject("no")
		}
		open(func(th *graph.Thread) {
			snap, err = th.Invoke(t.Context(), agent.Approval.Answer(asked[0].ID, answer))
			require.NoError(t, err)
		})
	}
	assert.True(t, snap.Done())
	assert.Equal(t, int32(1), finds.Load())
	assert.Equal(t, []string{"id1"}, removed)
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			assert.Contains(t, m.Text(), `"b":{"success":true,"message":"removed id1"}`)
			assert.Contains(t, m.Text(), `"c":{"success":false`)
		}
	}
}

// A plan with mistakes is answered with the mistakes, and no action runs.
func TestPlanWithMistakesRunsNothing(t *testing.T) {
	t.Parallel()
	ran := false
	set, err := tools.NewSet(tools.New("find", "Finds.", func(context.Context, struct{}) (string, error) {
		ran = true
		return "", nil
	}))
	require.NoError(t, err)
	model := llmtest.NewScript(llmtest.Call("run_plan", `{"actions":[{"id":"a","tool":"find"},{"id":"b","tool":"none"}]}`), llmtest.Say("done"))
	a, err := agent.New("a", model, set, agent.Options{Use: []agent.Middleware{middleware.Plan(set, tools.Rule{})}})
	require.NoError(t, err)
	snap, err := a.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	answer := agent.Messages.Get(snap)[2]
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.Contains(t, answer.Text(), `"none"`)
	assert.False(t, ran)
}

// The model writes a plan of two calls. The second call uses the result of the first one.
func ExamplePlan() {
	search := tools.New("search", "Finds events.", func(context.Context, struct{ Text string }) ([]string, error) { return []string{"event-7"}, nil })
	move := tools.New("move", "Moves an event.", func(_ context.Context, in struct{ ID, To string }) (string, error) {
		return "moved " + in.ID + " to " + in.To, nil
	})
	set, err := tools.NewSet(search, move)
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript(
		llmtest.Call("run_plan", `{"actions":[{"id":"find","tool":"search","args":{"Text":"John"}},{"id":"move","tool":"move","args":{"ID":"${find.0}","To":"Monday"}}]}`),
		llmtest.Say("Moved."))
	a, err := agent.New("calendar", model, set, agent.Options{Use: []agent.Middleware{middleware.Plan(set, tools.Rule{})}})
	if err != nil {
		panic(err)
	}
	snap, err := a.Invoke(context.Background(), agent.Messages.Put(llm.User("Move the meeting with John to Monday.")))
	if err != nil {
		panic(err)
	}
	fmt.Println(agent.Messages.Get(snap)[2].Text())
	// Output: {"find":{"success":true,"message":"[\"event-7\"]"},"move":{"success":true,"message":"moved event-7 to Monday"}}
}
