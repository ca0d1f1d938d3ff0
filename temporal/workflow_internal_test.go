package temporal

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weft-go/weft/graph"
)

// newEnvironment returns an environment with a simulated clock, in which the functions stand for the activities.
func newEnvironment(run func(ctx context.Context, in runInput) (outcome, error)) *testsuite.TestWorkflowEnvironment {
	return newLookEnvironment(func() error { return nil }, run)
}

// newLookEnvironment is like newEnvironment. The activity that looks at the thread returns the error of a function.
func newLookEnvironment(look func() error, run func(ctx context.Context, in runInput) (outcome, error)) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: deadlockTimeout})
	env.RegisterWorkflowWithOptions(runThread, workflow.RegisterOptions{Name: threadWorkflowName})
	env.RegisterActivityWithOptions(func(context.Context, string, string) (position, error) { return position{Version: "7"}, look() },
		activity.RegisterOptions{Name: lookActivity})
	env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: runActivity})
	return env
}

// callbacks collect the results of an update.
type callbacks struct {
	rejected error
	result   outcome
}

func (c *callbacks) Accept()          {}
func (c *callbacks) Reject(err error) { c.rejected = err }
func (c *callbacks) Complete(r any, _ error) {
	if out, ok := r.(outcome); ok {
		c.result = out
	}
}

func question(id string, after time.Duration) questionDeadline {
	return questionDeadline{wireAnswer{Interrupt: "approve", ID: id, Value: []byte("false")}, after}
}

// TestDeadlineGivesTheAnswerOnce proves that a question gets its default answer at its time, that later runs do not
// move that time, and that the workflow then ends.
func TestDeadlineGivesTheAnswerOnce(t *testing.T) {
	t.Parallel()
	var inputs []string
	env := newEnvironment(func(_ context.Context, in runInput) (outcome, error) {
		inputs = append(inputs, string(in.Input.Writes))
		switch len(inputs) {
		case 1, 2:
			return outcome{Checkpoint: "c", Deadlines: []questionDeadline{question("q", time.Hour)}}, nil
		}
		return outcome{Checkpoint: "d", Failure: &failure{Text: "refused"}, Deadlines: []questionDeadline{question("q", time.Hour)}}, nil
	})
	began := env.Now()
	var first, second callbacks
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &first, input{Writes: []byte(`[]`)}) }, 0)
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "2", &second, input{Writes: []byte(`[]`)}) }, 40*time.Minute)
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(statusQuery)
		if assert.NoError(t, err) {
			var s Status
			assert.NoError(t, value.Get(&s))
			assert.Len(t, s.Deadlines, 1)
		}
	}, 50*time.Minute)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, inputs, 3)
	assert.JSONEq(t, `[{"answer":{"interrupt":"approve","id":"q","value":false}}]`, inputs[2])
	assert.WithinDuration(t, began.Add(time.Hour), env.Now(), time.Minute)
	assert.Equal(t, "c", first.result.Checkpoint)
	assert.Equal(t, "c", second.result.Checkpoint)
}

// TestHistoryDoesNotGrow proves that a workflow with a deadline continues as new when Temporal suggests it, that it
// carries the deadline, and that it refuses inputs meanwhile.
func TestHistoryDoesNotGrow(t *testing.T) {
	t.Parallel()
	env := newEnvironment(func(context.Context, runInput) (outcome, error) {
		return outcome{Checkpoint: "c", Deadlines: []questionDeadline{question("q", time.Hour)}}, nil
	})
	env.SetContinueAsNewSuggested(true)
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &callbacks{}, input{}) }, 0)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	assert.Equal(t, threadWorkflowName, next.WorkflowType.Name)
}

// TestRefusedInputKeepsDeadlines proves that an input without effect changes no deadline, and that each of several
// default answers is given alone when they are refused together.
func TestRefusedInputKeepsDeadlines(t *testing.T) {
	t.Parallel()
	var inputs []string
	env := newEnvironment(func(_ context.Context, in runInput) (outcome, error) {
		inputs = append(inputs, string(in.Input.Writes))
		assert.NotEmpty(t, in.Input.Request)
		switch len(inputs) {
		case 1:
			return outcome{Checkpoint: "c", Deadlines: []questionDeadline{question("q", time.Hour), question("r", time.Hour)}}, nil
		case 2, 3, 4:
			return outcome{Failure: &failure{Kind: "no_question", Text: "refused"}}, nil
		}
		return outcome{Checkpoint: "d"}, nil
	})
	var refused callbacks
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &callbacks{}, input{Writes: []byte(`[]`), Request: "1"}) }, 0)
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "2", &refused, input{Writes: []byte(`[]`), Request: "2"}) }, time.Minute)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	require.NoError(t, env.GetWorkflowError())
	require.NotNil(t, refused.result.Failure)
	const q, r = `{"answer":{"interrupt":"approve","id":"q","value":false}}`, `{"answer":{"interrupt":"approve","id":"r","value":false}}`
	assert.Equal(t, []string{"[]", "[]", "[" + q + "," + r + "]", "[" + q + "]", "[" + r + "]"}, inputs)
}

// TestInputWaitsForTheStore proves that an input does not fail while no worker can look at the thread.
func TestInputWaitsForTheStore(t *testing.T) {
	t.Parallel()
	looks := 0
	env := newLookEnvironment(func() error {
		if looks++; looks < 9 {
			return errors.New("the database is away")
		}
		return nil
	}, func(context.Context, runInput) (outcome, error) { return outcome{Checkpoint: "c"}, nil })
	began := env.Now()
	var got callbacks
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &got, input{}) }, 0)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, "c", got.result.Checkpoint)
	assert.Greater(t, env.Now().Sub(began), 10*time.Second, "longer than one attempt to look may take")
}

// TestDefaultAnswerIsGivenAgain proves that a default answer that no worker could take is given again.
func TestDefaultAnswerIsGivenAgain(t *testing.T) {
	t.Parallel()
	looks, runs := 0, 0
	env := newLookEnvironment(func() error {
		if looks++; looks == 2 || looks == 3 {
			return sdk.NewNonRetryableApplicationError("broken", "broken", nil)
		}
		return nil
	}, func(context.Context, runInput) (outcome, error) {
		if runs++; runs == 1 {
			return outcome{Checkpoint: "c", Deadlines: []questionDeadline{question("q", time.Hour)}}, nil
		}
		return outcome{Checkpoint: "d"}, nil
	})
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &callbacks{}, input{}) }, 0)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, 2, runs)
	assert.Equal(t, 4, looks)
}

// TestRunTimeoutEndsARun proves that attempts do not follow each other for longer than the maximum time of a run.
func TestRunTimeoutEndsARun(t *testing.T) {
	t.Parallel()
	attempts := 0
	env := newEnvironment(func(context.Context, runInput) (outcome, error) {
		attempts++
		return outcome{}, sdk.NewTimeoutError(enums.TIMEOUT_TYPE_START_TO_CLOSE, errors.New("the node hangs"))
	})
	var got callbacks
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &got, input{}) }, 0)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{RunTimeout: 20 * time.Second}.withDefaults()})
	require.NoError(t, env.GetWorkflowError())
	require.NotNil(t, got.result.Failure)
	require.ErrorIs(t, got.result.Failure.err(), graph.ErrTimeout)
	assert.Contains(t, got.result.Failure.Text, "the node hangs")
	assert.Equal(t, 9, attempts, "the environment ends after 10 attempts, and the tenth would begin after 32.7 seconds")
}

func TestWorkflowWithoutInputEnds(t *testing.T) {
	t.Parallel()
	env := newEnvironment(nil)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{}.withDefaults()})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
}

// TestRunMovesToAnotherBuild proves that a run is on the task queue of its version, and on that of all
// workers when no worker has the version.
func TestRunMovesToAnotherBuild(t *testing.T) {
	t.Parallel()
	var queues []string
	env := newEnvironment(func(ctx context.Context, _ runInput) (outcome, error) {
		queues = append(queues, activity.GetInfo(ctx).TaskQueue)
		if len(queues) == 1 {
			return outcome{}, sdk.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
		return outcome{Checkpoint: "c"}, nil
	})
	var got callbacks
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(invokeUpdate, "1", &got, input{}) }, 0)
	env.ExecuteWorkflow(threadWorkflowName, threadArgs{Graph: "test", Options: Options{TaskQueue: "q"}.withDefaults()})
	require.NoError(t, env.GetWorkflowError())
	assert.Equal(t, "c", got.result.Checkpoint)
	assert.Equal(t, []string{"q@7", "q"}, queues)
}

// TestJoinedTasksAreRunAgain proves that the tasks of a run are passed on after a workflow with the same id, which an
// earlier attempt started with other tasks, has ended.
func TestJoinedTasksAreRunAgain(t *testing.T) {
	t.Parallel()
	c, earlier, own := &mocks.Client{}, &mocks.WorkflowRun{}, &mocks.WorkflowRun{}
	defer mock.AssertExpectationsForObjects(t, c, earlier, own)
	started := func() *mock.Call {
		return c.On("ExecuteWorkflow", mock.Anything, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == "t/tasks/c" && o.WorkflowExecutionErrorWhenAlreadyStarted &&
				o.WorkflowIDConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL
		}), tasksWorkflowName, mock.Anything).Once()
	}
	started().Return(nil, serviceerror.NewWorkflowExecutionAlreadyStarted("runs", "request", "run"))
	c.On("GetWorkflow", mock.Anything, "t/tasks/c", "run").Return(earlier).Once()
	earlier.On("Get", mock.Anything, nil).Return(errors.New("the tasks of the earlier attempt failed")).Once()
	started().Return(own, nil)
	own.On("Get", mock.Anything, nil).Return(nil).Once()
	e := newExecutor(c, ExecutorOptions{})
	require.NoError(t, e.Execute(t.Context(), []graph.TaskSet{{Thread: "t", Checkpoint: "c", Node: "work", Tasks: []string{"work"}}}))
}

// TestPartsOfLargeSupersteps proves that a workflow of tasks has a bounded number of activities and of ids.
func TestPartsOfLargeSupersteps(t *testing.T) {
	t.Parallel()
	ids := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprint("work[", i, "]")
		}
		return out
	}
	for _, c := range []struct{ tasks, batch, parts, batches int }{
		{1, 50, 1, 1}, {10_000, 50, 1, 200}, {10_000, 1, 1, 500}, {50_000, 10, 3, 500},
	} {
		e := &executor{options: ExecutorOptions{Options: Options{TaskQueue: "q"}, Batch: c.batch, Nodes: map[string]string{"far": "gpu"}}}
		parts := e.parts([]graph.TaskSet{{Node: "work", Tasks: ids(c.tasks)}, {Node: "far", Tasks: ids(1)}})
		assert.Len(t, parts, c.parts)
		total, queues := 0, map[string]int{}
		for _, p := range parts {
			batches, size := 0, 0
			for _, s := range p {
				total += len(s.Set.Tasks)
				size += len(s.Set.Tasks)
				queues[s.Queue] += len(s.Set.Tasks)
				batches += (len(s.Set.Tasks) + s.Batch - 1) / s.Batch
			}
			assert.LessOrEqual(t, size, maxWorkflowTasks)
			assert.LessOrEqual(t, batches, maxBatches+1)
		}
		assert.Equal(t, c.tasks+1, total)
		assert.Equal(t, map[string]int{"q": c.tasks, "gpu": 1}, queues)
	}
}
