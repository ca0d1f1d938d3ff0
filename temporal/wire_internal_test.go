package temporal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	trail   = state.Append[string]("trail")
	item    = state.Last[int]("item")
	approve = graph.NewInterrupt[string, bool]("approve")
)

// testGraph returns a graph whose node "ask" asks a question, and whose node "work" does not.
func testGraph(tb testing.TB) *graph.Graph {
	tb.Helper()
	b := graph.New("test", trail, item)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := approve.Wait(ctx, "go?")
		return nil, err
	})
	b.Node("work", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "ask")
	b.Destinations(graph.Start, "work")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Version: "7"})
	require.NoError(tb, err)
	return g
}

// TestWritesTravel proves that each kind of input is the same after its JSON form.
func TestWritesTravel(t *testing.T) {
	t.Parallel()
	g := testGraph(t)
	writes := []state.Write{
		trail.Put("a"), trail.Overwrite([]string{"b"}), item.Put(3), graph.Goto("work"), graph.Begin(), graph.Continue(),
		graph.Send("work", item.Put(1), trail.Put("c")), graph.SendOver("work", item.Put(2)), approve.Answer("id", true),
	}
	data, err := encodeWrites(writes)
	require.NoError(t, err)
	got, err := decodeWrites(g, data)
	require.NoError(t, err)
	require.Len(t, got, len(writes))
	for i, w := range writes {
		assert.Equal(t, w.String(), got[i].String())
	}
	again, err := encodeWrites(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(data), string(again))

	none, err := decodeWrites(g, nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestWritesThatCannotTravel(t *testing.T) {
	t.Parallel()
	_, err := encodeWrites([]state.Write{graph.ToParent(item.Put(1))})
	require.ErrorIs(t, err, graph.ErrSignal)
	_, err = encodeWrites([]state.Write{trail.Put(strings.Repeat("x", maxInput))})
	require.ErrorIs(t, err, checkpoint.ErrTooLarge)
	_, err = decodeWrites(testGraph(t), []byte(`[{"write":{"channel":"gone","op":"update","value":1}}]`))
	require.ErrorIs(t, err, state.ErrUnknownChannel)
}

// TestFailuresTravel proves that the caller finds the nodes and the sentinel of an error, and that an error of
// the surroundings is none.
func TestFailuresTravel(t *testing.T) {
	t.Parallel()
	node := &graph.NodeError{Path: "p", Node: "n", Task: "n[1]", Attempt: 2, Err: errors.New("broken")}
	f := newFailure(&graph.RunError{Graph: "g", Err: errors.Join(node, node)})
	require.NotNil(t, f)
	err := f.err()
	var ne *graph.NodeError
	require.ErrorAs(t, err, &ne)
	assert.Equal(t, node.Error(), ne.Error())
	assert.Len(t, f.Nodes, 2)

	f = newFailure(&graph.RunError{Err: graph.ErrMaxSteps})
	require.NotNil(t, f)
	require.ErrorIs(t, f.err(), graph.ErrMaxSteps)
	assert.Nil(t, newFailure(errors.New("the database is away")))
	assert.Nil(t, newFailure(checkpoint.ErrConflict))
}

func TestDeadlineOfQuestions(t *testing.T) {
	t.Parallel()
	g := testGraph(t)
	snap, err := g.Thread("t").Invoke(t.Context(), item.Put(1))
	require.NoError(t, err)
	a := newActivities(&WorkerOptions{})
	assert.Empty(t, a.outcome(snap).Deadlines)
	a.deadlines["approve"] = NewDeadline(approve, func(string) (d time.Duration, ok bool) { return 0, true })
	assert.Empty(t, a.outcome(snap).Deadlines, "never")
	a.deadlines["approve"] = NewDeadline(approve, func(prompt string) (time.Duration, bool) {
		assert.Equal(t, "go?", prompt)
		return 5, true
	})
	out := a.outcome(snap)
	require.Nil(t, out.Failure)
	require.Len(t, out.Deadlines, 1)
	assert.Equal(t, snap.Pauses[0].ID, out.Deadlines[0].ID)
	assert.JSONEq(t, `true`, string(out.Deadlines[0].Value))
	assert.True(t, stopped(snap))

	for name, d := range map[string]Deadline{
		"decode": NewDeadline(graph.NewInterrupt[int, bool]("approve"), func(int) (time.Duration, bool) { return 5, true }),
		"encode": NewDeadline(graph.NewInterrupt[string, func()]("approve"), func(string) (time.Duration, func()) { return 5, func() {} }),
	} {
		a.deadlines["approve"] = d
		out := a.outcome(snap)
		require.NotNil(t, out.Failure, "a question that cannot have its deadline: %s", name)
		assert.Contains(t, out.Failure.Text, "approve")
		assert.Equal(t, snap.ID, out.Checkpoint)
	}
}

// TestInputIsAppliedOnceByAttemptsThatWait proves that two attempts, which wait for the thread at the same time, apply
// the input once.
func TestInputIsAppliedOnceByAttemptsThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := graph.New("test", trail)
		b.Node("wait", func(context.Context, state.View) (state.Update, error) {
			<-release
			return nil, nil
		})
		b.Edge(graph.Start, "wait")
		g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
		require.NoError(t, err)
		a := newActivities(&WorkerOptions{})
		a.graphs["test"] = g
		data, err := encodeWrites([]state.Write{trail.Put("mine")})
		require.NoError(t, err)
		var runs sync.WaitGroup
		runs.Go(func() {
			_, err := g.Thread("t").Invoke(t.Context(), trail.Put("other"))
			assert.NoError(t, err)
		})
		synctest.Wait()
		base, err := a.look(t.Context(), "test", "t")
		require.NoError(t, err)
		for range 2 {
			runs.Go(func() {
				var suite testsuite.WorkflowTestSuite
				env := suite.NewTestActivityEnvironment()
				env.RegisterActivityWithOptions(a.run, activity.RegisterOptions{Name: runActivity})
				_, err := env.ExecuteActivity(runActivity, runInput{
					Graph: "test", Thread: "t", Base: base, Input: input{Writes: data, Request: "r"}, HeartbeatTimeout: time.Minute,
				})
				assert.NoError(t, err)
			})
		}
		synctest.Wait()
		close(release)
		runs.Wait()
		snap, err := g.Thread("t").Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"other", "mine"}, trail.Get(snap))
	})
}

// A lateStore calls a function when a run asks for the lease of its thread for the first time.
type lateStore struct {
	*memcheckpoint.Store
	before func()
	once   sync.Once
}

func (s *lateStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	s.once.Do(s.before)
	return s.Store.Lease(ctx, thread)
}

// TestInputIsAppliedOnceByAnAttemptThatWakesUp proves that an input is applied once if an earlier attempt wakes up on
// another worker. It applies the input after the present attempt has looked, and before that one has the lease.
func TestInputIsAppliedOnceByAnAttemptThatWakesUp(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	late := &lateStore{Store: store}
	data, err := encodeWrites([]state.Write{trail.Put("mine")})
	require.NoError(t, err)
	attempt := func(checkpoints checkpoint.Store) {
		b := graph.New("test", trail)
		b.Node("work", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Edge(graph.Start, "work")
		g, err := b.Compile(graph.Options{Checkpoints: checkpoints})
		require.NoError(t, err)
		a := newActivities(&WorkerOptions{})
		a.graphs["test"] = g
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivityWithOptions(a.run, activity.RegisterOptions{Name: runActivity})
		_, err = env.ExecuteActivity(runActivity, runInput{
			Graph: "test", Thread: "t", Input: input{Writes: data, Request: "r"}, HeartbeatTimeout: time.Minute,
		})
		require.NoError(t, err)
		snap, err := g.Thread("t").Snapshot(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"mine"}, trail.Get(snap))
	}
	late.before = func() { attempt(store) }
	attempt(late)
}

// TestInputIsAppliedAfterAnotherRun proves that a run of somebody else, which moves the thread between look and the
// run, does not count as an earlier attempt.
func TestInputIsAppliedAfterAnotherRun(t *testing.T) {
	t.Parallel()
	g := testGraph(t)
	a := newActivities(&WorkerOptions{})
	a.graphs["test"] = g
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.run, activity.RegisterOptions{Name: runActivity})
	run := func(base position, request string, writes ...state.Write) {
		data, err := encodeWrites(writes)
		require.NoError(t, err)
		_, err = env.ExecuteActivity(runActivity, runInput{
			Graph: "test", Thread: "t", Base: base, Input: input{Writes: data, Request: request}, HeartbeatTimeout: time.Minute,
		})
		require.NoError(t, err)
	}
	base, err := a.look(t.Context(), "test", "t")
	require.NoError(t, err)
	snap, err := g.Thread("t").With(graph.RunOptions{Metadata: map[string]string{requestKey: "other"}}).Invoke(t.Context(), trail.Put("other"))
	require.NoError(t, err)
	run(base, "mine", trail.Put("mine"))
	got, err := g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"other", "mine"}, trail.Get(got), "new input")

	// Somebody answers the question; the input is another turn.
	base, err = a.look(t.Context(), "test", "t")
	require.NoError(t, err)
	_, err = g.Thread("t").Invoke(t.Context(), approve.Answer(snap.Pauses[0].ID, true))
	if err != nil { // the second input has a question of its own
		_, err = g.Thread("t").Invoke(t.Context(), approve.Answer(got.Pauses[0].ID, true))
	}
	require.NoError(t, err)
	run(base, "next", trail.Put("next"))
	run(base, "next", trail.Put("next"))
	got, err = g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"other", "mine", "next"}, trail.Get(got), "after an answer")
}

// TestInputIsAppliedOnce proves that a run which Temporal repeats does not apply its input again: when the earlier
// attempt ended, it only tells the outcome, and when it died, it goes on.
func TestInputIsAppliedOnce(t *testing.T) {
	t.Parallel()
	g := testGraph(t)
	a := newActivities(&WorkerOptions{})
	a.graphs["test"] = g
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.run, activity.RegisterOptions{Name: runActivity})
	request, repeated := "1", false
	run := func(base position, writes ...state.Write) outcome {
		data, err := encodeWrites(writes)
		require.NoError(t, err)
		value, err := env.ExecuteActivity(runActivity, runInput{
			Graph: "test", Thread: "t", Base: base, Input: input{Writes: data, Request: request, Repeated: repeated}, HeartbeatTimeout: time.Minute,
		})
		require.NoError(t, err)
		var out outcome
		require.NoError(t, value.Get(&out))
		return out
	}
	base, err := a.look(t.Context(), "test", "t")
	require.NoError(t, err)
	assert.Equal(t, position{Version: "7"}, base)
	first := run(base, trail.Put("in"))
	assert.Equal(t, first, run(base, trail.Put("in")))
	snap, err := g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"in"}, trail.Get(snap))

	// The earlier attempt stored the answer, and died before the task ran.
	request = "2"
	base, err = a.look(t.Context(), "test", "t")
	require.NoError(t, err)
	c, err := g.Checkpoints().Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	id := snap.Pauses[0].ID
	require.NoError(t, g.Checkpoints().PutWrites(t.Context(), c.Key, []checkpoint.Write{
		{Task: "ask", Index: 0, Channel: "$answer", Data: []byte(`{"id":"` + id + `","value":true}`)},
	}))
	out := run(base, approve.Answer(id, true))
	assert.Nil(t, out.Failure)
	snap, err = g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.True(t, snap.Done())
	assert.Equal(t, out, run(base, approve.Answer(id, true)))
	fresh, err := a.look(t.Context(), "test", "t")
	require.NoError(t, err)
	request = "3"
	failed := run(fresh, approve.Answer(id, true))
	require.NotNil(t, failed.Failure, "a new answer to a question that is not open")
	assert.Equal(t, "no_question", failed.Failure.Kind)

	// A client repeats a request after the workflow that ran it has ended.
	request, repeated = "r", true
	for range 2 {
		base, err = a.look(t.Context(), "test", "t")
		require.NoError(t, err)
		out = run(base, trail.Put("more"))
		assert.Nil(t, out.Failure)
	}
	snap, err = g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"in", "more"}, trail.Get(snap))
	assert.Equal(t, "r", snap.Metadata[requestKey])
}
