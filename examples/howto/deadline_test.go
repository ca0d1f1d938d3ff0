package howto_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// docs:begin sweeper

// rejectOld rejects each call of the node "clerk" that has waited for an approval for longer than the limit.
func rejectOld(ctx context.Context, desk *graph.Graph, store checkpoint.StatusLister, limit time.Duration) error {
	var failed []error
	for waiting, err := range store.ListStatus(ctx, checkpoint.StatusQuery{Status: checkpoint.Paused, Node: "clerk"}) {
		if err == nil {
			err = rejectOldOf(ctx, desk.Thread(waiting.Thread), limit)
		}
		failed = append(failed, err) // continue with the other threads
	}
	return errors.Join(failed...)
}

func rejectOldOf(ctx context.Context, thread *graph.Thread, limit time.Duration) error {
	snap, err := thread.Snapshot(ctx)
	if err != nil {
		return err
	}
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return err
	}
	var answers []state.Write
	for _, q := range open {
		if time.Since(q.Asked) >= limit {
			decision := q.Prompt.Reject("Nobody answered in time.")
			decision.By = "the deadline" // otherwise the model reads that a person rejected the call
			answers = append(answers, agent.Approval.Answer(q.ID, decision))
		}
	}
	if answers == nil {
		return nil
	}
	_, err = thread.Invoke(ctx, answers...)
	if errors.Is(err, graph.ErrNoQuestion) || errors.Is(err, checkpoint.ErrConflict) {
		return nil // somebody answered first
	}
	return err
}

// docs:end

// docs:begin sweeper-test

// A bubble of testing/synctest has its own clock, so a day passes in the test without a wait.
func TestCallIsRejectedAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memcheckpoint.New(memcheckpoint.Options{})
		desk := must(newDesk(store))
		thread := desk.Thread("customer-7")
		must(thread.Invoke(t.Context(), agent.Messages.Put(llm.User("I want my money back."))))

		time.Sleep(23 * time.Hour)
		require.NoError(t, rejectOld(t.Context(), desk, store, 24*time.Hour))
		require.Len(t, must(thread.Snapshot(t.Context())).Pauses, 1, "the question is still open")

		time.Sleep(time.Hour)
		require.NoError(t, rejectOld(t.Context(), desk, store, 24*time.Hour))
		snap := must(thread.Snapshot(t.Context()))
		require.Empty(t, snap.Pauses)
		answer, _ := agent.Messages.Last(snap)
		require.Contains(t, answer.Text(), "Nobody answered in time.")
	})
}

// docs:end

// A delayed run of a server gives the answer. Here the delay is short; for a day, after_seconds is
// 86400.
func Example_deadlineOfAServer() {
	desk := must(newDesk(memcheckpoint.New(memcheckpoint.Options{})))
	address, end := serve(server.Options{Graphs: map[string]*graph.Graph{"desk": desk}})
	defer end()
	var thread struct {
		ID string `json:"thread_id"`
	}
	post(address+"/threads", `{}`, &thread)
	var asked struct {
		Questions []struct {
			ID    string
			Value struct{ Hash string }
		} `json:"__interrupt__"`
	}
	post(address+"/threads/"+thread.ID+"/runs/wait",
		`{"assistant_id": "desk", "input": {"messages": [{"role": "user", "content": "I want my money back."}]}}`, &asked)
	q := asked.Questions[0]

	var late struct {
		ID string `json:"run_id"`
	}
	post(address+"/threads/"+thread.ID+"/runs", string(must(json.Marshal(map[string]any{
		"assistant_id":  "desk",
		"after_seconds": 0.05,
		"command": map[string]any{"resume": map[string]any{
			q.ID: map[string]string{"verdict": "reject", "hash": q.Value.Hash, "by": "the deadline", "reason": "Nobody answered in time."},
		}},
	}))), &late)

	var values struct {
		Messages []struct{ Content string }
	}
	get(address+"/threads/"+thread.ID+"/runs/"+late.ID+"/join", &values)
	fmt.Println(len(values.Messages), "messages:", values.Messages[3].Content != "")
	// Output: 4 messages: true
}
