package server_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

type shipping struct {
	Approved bool `json:"approved"`
}

// ships returns a graph that asks whether to ship each order, and lists the decisions.
func ships(t *testing.T) *graph.Graph {
	t.Helper()
	order, log := state.Last[string]("order"), state.Append[string]("log")
	ask := graph.NewInterrupt[string, shipping]("ship")
	b := graph.New("ships", order, log)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		d, err := ask.Wait(ctx, order.Get(s))
		return state.Update{log.Put(fmt.Sprint(order.Get(s), " ", d.Approved))}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// shipServer serves the graph, with a thread that waits at a question. question returns the id of the open question,
// after a check that each response with the question has the same id.
func shipServer(t *testing.T) (call func(path, body string) (int, any), question func() string) {
	t.Helper()
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"ships": ships(t)}, Runs: memruns.New()})
	thread := "/threads/" + studioThread
	call = func(path, body string) (int, any) {
		t.Helper()
		return send(t, s, http.MethodPost, thread+path, body)
	}
	question = func() string {
		t.Helper()
		id, _ := field(get(t, s, thread+"/state"), "interrupts", 0, "id").(string)
		record := get(t, s, thread)
		require.Equal(t, "interrupted", field(record, "status"))
		open, _ := field(record, "interrupts").(map[string]any)
		require.Len(t, open, 1)
		for _, list := range open {
			require.Equal(t, id, field(list, 0, "id"))
		}
		_, found := send(t, s, http.MethodPost, "/threads/search", `{"status":"interrupted"}`)
		require.Equal(t, studioThread, field(found, 0, "thread_id"))
		return id
	}
	_, got := call("/runs/wait", `{"assistant_id":"ships","if_not_exists":"create","input":{"order":"A"}}`)
	require.NotEmpty(t, field(got, "__interrupt__"))
	return call, question
}

// An answer to an old question, for example from a browser tab, does not answer the current question.
func TestAnAnswerToAnOldQuestionIsRefused(t *testing.T) {
	t.Parallel()
	call, question := shipServer(t)
	old := question()
	answer := `{"assistant_id":"ships","command":{"resume":{"` + old + `":{"approved":true}}}}`
	status, _ := call("/runs/wait", answer)
	require.Equal(t, http.StatusOK, status)
	_, _ = call("/runs/wait", `{"assistant_id":"ships","input":{"order":"B"}}`)
	present := question()
	require.NotEqual(t, old, present)
	for _, kind := range []string{"/runs", "/runs/wait", "/runs/stream"} {
		status, got := call(kind, answer)
		assert.Equal(t, http.StatusUnprocessableEntity, status, kind)
		assert.Contains(t, field(got, "detail"), "no open question has the id "+old+"; the open one is "+present, kind)
	}
	both := `{"assistant_id":"ships","command":{"resume":{"` + old + `":{"approved":true},"` + present + `":{"approved":true}}}}`
	status, _ = call("/runs/wait", both)
	assert.Equal(t, http.StatusUnprocessableEntity, status)
	_, got := call("/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"`+old+`","response":{"approved":true}}}`)
	assert.Equal(t, "no_such_interrupt", field(got, "error"))
	_, got = call("/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"ships","input":{"`+old+`":{"approved":true}}}}`)
	assert.Equal(t, "error", field(got, "type"))
	require.Equal(t, present, question(), "the question is open as before")

	_, got = call("/runs/wait", `{"assistant_id":"ships","command":{"resume":{"`+present+`":{"approved":true}}}}`)
	assert.Equal(t, []any{"A true", "B true"}, field(got, "log"))
}

// An answer to an old question is refused when its run begins, if the run waited for another run.
func TestAnAnswerToAnOldQuestionIsRefusedBehindAnotherRun(t *testing.T) {
	t.Parallel()
	call, question := shipServer(t)
	old := question()
	_, _ = call("/runs/wait", `{"assistant_id":"ships","command":{"resume":{"approved":true}}}`)
	_, _ = call("/runs/wait", `{"assistant_id":"ships","input":{"order":"B"}}`)
	present := question()
	status, _ := call("/runs", `{"assistant_id":"ships","input":{"order":"C"},"after_seconds":0}`)
	require.Equal(t, http.StatusOK, status)
	status, _ = call("/runs/wait", `{"assistant_id":"ships","command":{"resume":{"`+old+`":{"approved":true},"`+present+`":{"approved":true}}},"multitask_strategy":"enqueue"}`)
	require.Contains(t, []int{http.StatusOK, http.StatusUnprocessableEntity}, status, "the first run may have ended")
	id := question()
	require.NotEqual(t, present, id)
	_, got := call("/runs/wait", `{"assistant_id":"ships","command":{"resume":{"`+id+`":{"approved":true}}}}`)
	assert.Equal(t, []any{"A true", "C true"}, field(got, "log"))
}

// After a refused answer or an invalid input, the thread is still in the list of waiting threads.
func TestAThreadWaitsAfterARefusedAnswerOrInput(t *testing.T) {
	t.Parallel()
	call, question := shipServer(t)
	id := question()
	for _, refused := range []struct{ body, why string }{
		{`"command":{"resume":true}`, "want a server_test.shipping, got a bool"},
		{`"command":{"resume":{"` + id + `":"yes"}}`, "want a server_test.shipping, got a string"},
		{`"command":{"resume":{"approve":true}}`, `want a server_test.shipping, got the unknown field "approve"; did you mean "approved"?`},
		{`"input":{"order":7}`, "the JSON is not a string"},
		{`"input":{"odrer":"B"}`, "odrer"},
		{`"command":{"goto":"nowhere"}`, "nowhere"},
	} {
		_, got := call("/runs/wait", `{"assistant_id":"ships",`+refused.body+`}`)
		text, _ := field(got, "__error__", "message").(string)
		assert.Contains(t, text, refused.why, refused.body)
		require.Equal(t, id, question(), refused.body)
	}
	_, got := call("/runs/wait", `{"assistant_id":"ships","command":{"resume":{"approved":true}}}`)
	assert.Equal(t, []any{"A true"}, field(got, "log"))
}
