package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// agui runs a graph and returns the events.
func (w *wire) agui(graph string, input map[string]any) (kinds []string, events []map[string]any) {
	w.t.Helper()
	body := map[string]any{"threadId": "talk", "runId": "run-1", "messages": []any{}, "tools": []any{}, "context": []any{}}
	for k, v := range input {
		body[k] = v
	}
	for _, e := range w.events(w.send(http.MethodPost, "/ag-ui/"+graph, body), nil) {
		var ev map[string]any
		require.NoError(w.t, json.Unmarshal([]byte(e.data), &ev))
		kinds, events = append(kinds, ev["type"].(string)), append(events, ev)
	}
	require.NotEmpty(w.t, events)
	return kinds, events
}

func message(id, role, text string) map[string]any {
	return map[string]any{"id": id, "role": role, "content": text}
}

func TestAGUIHasTheEventsOfARun(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	kinds, events := w.agui("tools", map[string]any{"messages": []any{message("h1", "user", "add 2 3")}})
	assert.Equal(t, []string{
		"RUN_STARTED", "STATE_SNAPSHOT",
		"STEP_STARTED", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_ARGS", "TOOL_CALL_END", "STEP_FINISHED",
		"STEP_STARTED", "TOOL_CALL_RESULT", "STEP_FINISHED",
		"STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED",
		"MESSAGES_SNAPSHOT", "RUN_FINISHED",
	}, kinds)
	assert.Equal(t, "talk", events[0]["threadId"])
	assert.Equal(t, "run-1", events[0]["runId"])
	assert.Equal(t, map[string]any{"type": "TOOL_CALL_START", "toolCallId": "call-1", "toolCallName": "add", "parentMessageId": "ai-1"}, events[3])
	assert.Equal(t, map[string]any{"type": "TOOL_CALL_RESULT", "messageId": "tool-call-1", "toolCallId": "call-1", "content": "5", "role": "tool"}, events[9])
	snapshot := events[len(events)-2]["messages"].([]any)
	require.Len(t, snapshot, 4)
	assert.Equal(t, message("h1", "user", "add 2 3"), snapshot[0])
	assert.Equal(t, map[string]any{"type": "success"}, events[len(events)-1]["outcome"])

	// The client sends the whole conversation again. Only the new message becomes an input.
	again := append(append([]any{}, snapshot...), message("h2", "user", "add 4 5"))
	_, events = w.agui("tools", map[string]any{"messages": again})
	assert.Len(t, events[len(events)-2]["messages"], 8)
}

func TestAGUIHasTheStateAndItsChanges(t *testing.T) {
	t.Parallel()
	mood, log := state.LastWins[string]("mood"), state.Append[string]("log")
	b := graph.New("moody", agent.Messages, mood, log)
	b.Node("first", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{log.Put("was " + mood.Get(s)), mood.Put("better")}, nil
	})
	b.Node("then", func(context.Context, state.View) (state.Update, error) {
		return state.Update{agent.Messages.Put(llm.Assistant("Fine."))}, nil
	})
	b.Edge(graph.Start, "first")
	b.Edge("first", "then")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	w := newWire(t, func(o *server.Options) { o.Graphs["moody"] = g })
	shared := map[string]any{"mood": "low", "log": []string{"of the client"}, "unknown": 1}
	kinds, events := w.agui("moody", map[string]any{"messages": []any{message("h1", "user", "hi")}, "state": shared})
	assert.Equal(t, []string{
		"RUN_STARTED", "STATE_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED", "STATE_DELTA",
		"STEP_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "STEP_FINISHED", "MESSAGES_SNAPSHOT", "RUN_FINISHED",
	}, kinds)
	assert.Equal(t, map[string]any{"mood": "low", "log": []any{}}, events[1]["snapshot"], "a client changes plain channels")
	assert.Equal(t, []any{
		map[string]any{"op": "replace", "path": "/log", "value": []any{"was low"}},
		map[string]any{"op": "replace", "path": "/mood", "value": "better"},
	}, events[4]["delta"])
}

func TestAGUIEndsWithQuestionsAndTakesAnswers(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["asker"] = approveChat(t) })
	said := []any{message("h1", "user", "go")}
	kinds, events := w.agui("asker", map[string]any{"messages": said})
	assert.Equal(t, []string{"RUN_STARTED", "STATE_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"}, kinds)
	outcome := events[len(events)-1]["outcome"].(map[string]any)
	assert.Equal(t, "interrupt", outcome["type"])
	question := outcome["interrupts"].([]any)[0].(map[string]any)
	assert.Equal(t, "Really go?", question["message"])
	assert.Equal(t, map[string]any{"value": map[string]any{"question": "Really go?"}}, question["metadata"])

	kinds, events = w.agui("asker", map[string]any{"messages": append(said, message("h2", "user", "hello?"))})
	assert.Equal(t, []string{"RUN_STARTED", "RUN_FINISHED"}, kinds, "the question comes first")
	assert.Equal(t, outcome, events[1]["outcome"])

	for _, id := range []string{"wrong", "67738246000000000000000000000000"} {
		kinds, events = w.agui("asker", map[string]any{"messages": said, "resume": []any{map[string]any{"interruptId": id, "status": "resolved", "payload": 1}}})
		assert.Equal(t, []string{"RUN_STARTED", "RUN_ERROR"}, kinds)
		assert.Contains(t, events[1]["message"], "no open question has the id "+id+"; the open one is "+question["id"].(string))
	}

	_, events = w.agui("asker", map[string]any{"messages": said, "resume": []any{map[string]any{"interruptId": question["id"], "status": "resolved", "payload": "yes"}}})
	assert.Equal(t, map[string]any{"type": "success"}, events[len(events)-1]["outcome"])
	assert.Equal(t, "You said yes.", events[len(events)-2]["messages"].([]any)[1].(map[string]any)["content"])
}

func TestAGUIShowsAnApprovalAsText(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["helper"] = helper(t, memcheckpoint.New(memcheckpoint.Options{})) })
	said := []any{message("h1", "user", "Pay.")}
	_, events := w.agui("helper", map[string]any{"messages": said})
	question := field(events[len(events)-1], "outcome", "interrupts", 0)
	assert.Equal(t, "Pay the invoice\npay: Pays.\narguments: {\"amount\":9007199254740993}", field(question, "message"))
	answer := map[string]any{"verdict": "approve", "hash": field(question, "metadata", "value", "hash")}
	_, events = w.agui("helper", map[string]any{"messages": said, "resume": []any{map[string]any{"interruptId": field(question, "id"), "status": "resolved", "payload": answer}}})
	assert.Equal(t, map[string]any{"type": "success"}, events[len(events)-1]["outcome"])
}

func TestAGUICallsTheToolsOfTheClient(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("clock", `{"zone":"Athens"}`).Costing(llm.Usage{Input: 2, Output: 1}), llmtest.Say("It is noon.").Thinking("Hm."))
	w := newWire(t, func(o *server.Options) { o.Graphs["helper"] = clientToolsGraph(t, model) })
	offered := []any{map[string]any{"name": "clock", "description": "Tells the time.", "parameters": map[string]any{"type": "object"}}}
	_, events := w.agui("helper", map[string]any{"messages": []any{message("h1", "user", "time?")}, "tools": offered})
	last := events[len(events)-1]
	pending := last["outcome"].(map[string]any)["pendingToolCallIds"].([]any)
	require.Len(t, pending, 1)
	assert.Equal(t, []any{map[string]any{"inputTokens": 2.0, "outputTokens": 1.0, "totalTokens": 3.0}}, last["usage"])
	assert.Equal(t, "clock", model.Requests()[0].Tools[0].Name)
	for _, e := range events {
		assert.NotContains(t, string(encoded(e)), "client_tools", "the tools are no part of the state")
	}

	said := append(events[len(events)-2]["messages"].([]any), map[string]any{"id": "t1", "role": "tool", "toolCallId": pending[0], "content": "12:00"})
	kinds, _ := w.agui("helper", map[string]any{"messages": said, "tools": offered})
	assert.Contains(t, kinds, "REASONING_MESSAGE_CONTENT")
	assert.Equal(t, "12:00", model.Requests()[1].Messages[2].Text())

	resp := w.send(http.MethodPost, "/ag-ui/echo", map[string]any{"threadId": "t", "runId": "r", "messages": said[:1], "tools": offered})
	assert.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode, "the graph takes no tools")
}

func TestAGUITellsErrors(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		o.Graphs["failing"] = clientToolsGraph(t, llmtest.NewScript(llmtest.Fail(assert.AnError)))
	})
	kinds, events := w.agui("failing", map[string]any{"messages": []any{message("h1", "user", "hi")}})
	assert.Equal(t, "RUN_ERROR", kinds[len(kinds)-1])
	assert.Contains(t, events[len(events)-1]["message"], assert.AnError.Error())
	for name, body := range map[string]map[string]any{
		"no thread":       {"runId": "r", "messages": []any{}},
		"no run":          {"threadId": "t", "messages": []any{}},
		"an unknown role": {"threadId": "t", "runId": "r", "messages": []any{message("h1", "nobody", "hi")}},
		"an unknown part": {"threadId": "t", "runId": "r", "messages": []any{map[string]any{"id": "h", "role": "user", "content": []any{map[string]any{"type": "smell"}}}}},
	} {
		assert.Equal(t, http.StatusUnprocessableEntity, w.send(http.MethodPost, "/ag-ui/echo", body).StatusCode, name)
	}
	assert.Equal(t, http.StatusUnprocessableEntity, w.send(http.MethodPost, "/ag-ui/slow", map[string]any{"threadId": "t", "runId": "r"}).StatusCode, "no conversation")
}

// Two users may give their threads the same name.
func TestAGUIThreadsOfUsersAreApart(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		o.Auth = func(r *http.Request) (server.User, error) { return server.User{ID: r.Header.Get("X-User")}, nil }
	})
	for _, user := range []string{"ada", "bob"} {
		body := map[string]any{"threadId": "talk", "runId": "r", "messages": []any{message("h-"+user, "user", user)}}
		all := w.events(w.send(http.MethodPost, "/ag-ui/echo", body, "X-User", user), nil)
		assert.Contains(t, all[len(all)-2].data, "echo: "+user)
		if user == "bob" {
			assert.NotContains(t, string(encoded(names(all)))+all[len(all)-2].data, "ada")
		}
	}
}
