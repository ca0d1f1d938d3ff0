package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

func user(text string) map[string]any { return map[string]any{"role": "user", "content": text} }

// The client is LangChain for Go, which speaks OpenAI's protocol.
func TestAnOpenAIClientCallsAGraph(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	client, err := openai.New(openai.WithBaseURL(w.url+"/v1"), openai.WithToken("none"), openai.WithModel("tools"))
	require.NoError(t, err)
	question := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "add 2 3")}

	answer, err := client.GenerateContent(t.Context(), question)
	require.NoError(t, err)
	assert.Equal(t, "The sum is 5.", answer.Choices[0].Content)
	assert.Equal(t, "stop", answer.Choices[0].StopReason)
	assert.Empty(t, answer.Choices[0].ToolCalls, "the graph answered its own calls")

	var pieces []string
	answer, err = client.GenerateContent(t.Context(), question, llms.WithStreamingFunc(func(_ context.Context, p []byte) error {
		pieces = append(pieces, string(p))
		return nil
	}))
	require.NoError(t, err)
	assert.Equal(t, "The sum is 5.", strings.Join(pieces, ""))
	assert.Greater(t, len(pieces), 3)
	assert.Equal(t, "The sum is 5.", answer.Choices[0].Content)

	_, err = client.GenerateContent(t.Context(), question, llms.WithModel("nobody"))
	assert.ErrorContains(t, err, "There is no model nobody")
}

func TestAChatCompletionHasTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		usage := llm.Usage{Input: 7, Output: 3, Total: 10}
		o.Graphs = map[string]*graph.Graph{"weather": weatherAgent(
			t, llmtest.Call("weather", `{"City":"Athens"}`).Costing(usage), llmtest.Say("Sunny.").Costing(usage),
			llmtest.Call("weather", `{"City":"Athens"}`).Costing(usage), llmtest.Say("Sunny.").Costing(usage),
		)}
	})
	body := map[string]any{"model": "weather", "messages": []any{user("the weather in Athens?")}, "temperature": 0.5, "user": "ada"}
	got := w.json(http.MethodPost, "/v1/chat/completions", body)
	assert.Equal(t, "chat.completion", got["object"])
	assert.Equal(t, "weather", got["model"])
	assert.True(t, strings.HasPrefix(got["id"].(string), "chatcmpl-"))
	assert.Equal(t, map[string]any{"prompt_tokens": 14.0, "completion_tokens": 6.0, "total_tokens": 20.0}, got["usage"])
	assert.Equal(t, []any{map[string]any{
		"index": 0.0, "finish_reason": "stop", "logprobs": nil,
		"message": map[string]any{"role": "assistant", "content": "Sunny.", "refusal": nil},
	}}, got["choices"])

	body["stream"], body["stream_options"] = true, map[string]any{"include_usage": true}
	chunks := w.chunks(w.send(http.MethodPost, "/v1/chat/completions", body))
	var text strings.Builder
	for i, c := range chunks[:len(chunks)-1] {
		assert.Equal(t, "chat.completion.chunk", c["object"])
		choice := c["choices"].([]any)[0].(map[string]any)
		delta := choice["delta"].(map[string]any)
		if i == 0 {
			assert.Equal(t, "assistant", delta["role"])
		}
		if part, ok := delta["content"].(string); ok {
			text.WriteString(part)
		}
		assert.NotContains(t, delta, "tool_calls")
		assert.Equal(t, i == len(chunks)-2, choice["finish_reason"] == "stop")
	}
	assert.Equal(t, "Sunny.", text.String())
	last := chunks[len(chunks)-1]
	assert.Empty(t, last["choices"])
	assert.Equal(t, map[string]any{"prompt_tokens": 14.0, "completion_tokens": 6.0, "total_tokens": 20.0}, last["usage"])
}

// chunks reads the chunks of a streamed completion, which ends with [DONE].
func (w *wire) chunks(resp *http.Response) []map[string]any {
	w.t.Helper()
	events := w.events(resp, func(e wireEvent) bool { return e.data == "[DONE]" || strings.Contains(e.data, `"error"`) })
	var out []map[string]any
	for _, e := range events {
		assert.Empty(w.t, e.name)
		if e.data == "[DONE]" {
			break
		}
		var c map[string]any
		require.NoError(w.t, json.Unmarshal([]byte(e.data), &c))
		out = append(out, c)
	}
	return out
}

// clientToolsGraph returns a graph whose model may call the tools of the client.
func clientToolsGraph(t *testing.T, model llm.Model) *graph.Graph {
	t.Helper()
	b := graph.New("helper", agent.Messages, server.ClientTools)
	b.Node("model", func(ctx context.Context, s state.View) (state.Update, error) {
		var reply llm.Message
		request := llm.Request{Messages: agent.Messages.Get(s), Tools: server.ClientTools.Get(s)}
		for _, err := range node.Tee(ctx, llm.Stream(ctx, model, request, &reply)) {
			if err != nil {
				return nil, err
			}
		}
		return state.Update{agent.Messages.Put(reply)}, nil
	})
	b.Edge(graph.Start, "model")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

func TestTheToolsOfAnOpenAIClientAreCalled(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(
		llmtest.Call("clock", `{"zone":"Athens"}`), llmtest.Say("It is noon."), llmtest.Call("clock", `{"zone":"Athens"}`),
	)
	w := newWire(t, func(o *server.Options) { o.Graphs["helper"] = clientToolsGraph(t, model) })
	clock := map[string]any{"type": "function", "function": map[string]any{
		"name": "clock", "description": "Tells the time.", "parameters": map[string]any{"type": "object", "properties": map[string]any{"zone": map[string]any{"type": "string"}}},
	}}
	messages := []any{user("what time is it?")}
	got := w.json(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "helper", "messages": messages, "tools": []any{clock}})
	choice := got["choices"].([]any)[0].(map[string]any)
	assert.Equal(t, "tool_calls", choice["finish_reason"])
	message := choice["message"].(map[string]any)
	assert.Nil(t, message["content"])
	call := message["tool_calls"].([]any)[0].(map[string]any)
	assert.Equal(t, map[string]any{"name": "clock", "arguments": `{"zone":"Athens"}`}, call["function"])
	assert.Equal(t, "clock", model.Requests()[0].Tools[0].Name)
	assert.Contains(t, string(model.Requests()[0].Tools[0].Schema), "zone")

	messages = append(messages, message, map[string]any{"role": "tool", "tool_call_id": call["id"], "content": "12:00"})
	got = w.json(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "helper", "messages": messages, "tools": []any{clock}})
	assert.Equal(t, "It is noon.", got["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"])
	asked := model.Requests()[1].Messages
	require.Len(t, asked, 3)
	assert.Equal(t, "clock", asked[1].ToolCalls[0].Name)
	assert.Equal(t, "12:00", asked[2].Text())

	chunks := w.chunks(w.send(http.MethodPost, "/v1/chat/completions", map[string]any{
		"model": "helper", "messages": []any{user("what time is it?")}, "tools": []any{clock}, "stream": true,
	}))
	require.Len(t, chunks, 2)
	delta := chunks[0]["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)
	assert.Equal(t, "assistant", delta["role"])
	streamed := delta["tool_calls"].([]any)[0].(map[string]any)
	assert.EqualValues(t, 0, streamed["index"])
	assert.Equal(t, call["function"], streamed["function"])
	assert.Equal(t, "tool_calls", chunks[1]["choices"].([]any)[0].(map[string]any)["finish_reason"])

	resp := w.send(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "echo", "messages": messages[:1], "tools": []any{clock}})
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode, "the graph takes no tools")
}

// approveChat returns a graph that asks before it answers.
func approveChat(t *testing.T) *graph.Graph {
	t.Helper()
	type question struct {
		Question string `json:"question"`
	}
	approve := graph.NewInterrupt[question, string]("approve")
	b := graph.New("asker", agent.Messages)
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		list := agent.Messages.Get(s)
		answer, err := approve.Wait(ctx, question{"Really " + list[len(list)-1].Text() + "?"})
		if err != nil {
			return nil, err
		}
		return state.Update{agent.Messages.Put(llm.Assistant("You said " + answer + "."))}, nil
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

func TestAnOpenAIClientAnswersAQuestionOnAThread(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["asker"] = approveChat(t) })
	complete := func(stream bool, messages ...any) string {
		body := map[string]any{"model": "asker", "messages": messages, "metadata": map[string]string{"thread_id": "talk"}, "stream": stream}
		if stream {
			var text strings.Builder
			for _, c := range w.chunks(w.send(http.MethodPost, "/v1/chat/completions", body)) {
				part, _ := c["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)["content"].(string)
				text.WriteString(part)
			}
			return text.String()
		}
		return w.json(http.MethodPost, "/v1/chat/completions", body)["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"].(string)
	}
	first := []any{user("go")}
	assert.Equal(t, "Really go?", complete(false, first...))
	then := append(first, map[string]any{"role": "assistant", "content": "Really go?"}, user("yes"))
	assert.Equal(t, "You said yes.", complete(false, then...))
	then = append(then, map[string]any{"role": "assistant", "content": "You said yes."}, user("stop"))
	assert.Equal(t, "Really stop?", complete(true, then...), "only the new message is an input")

	resp := w.send(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "asker", "messages": first})
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusConflict, resp.StatusCode)
	assert.Contains(t, string(data), "needs a thread")
}

// An approval is shown as a readable question. The client answers with a word, if its conversation contains the question.
func TestAnOpenAIClientApprovesACall(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{"approve": "success", " Reject ": "error"} {
		w := newWire(t, func(o *server.Options) { o.Graphs["helper"] = helper(t, memcheckpoint.New(memcheckpoint.Options{})) })
		complete := func(messages ...any) *http.Response {
			return w.send(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "helper", "messages": messages}, "X-Thread-Id", "talk")
		}
		text := func(r *http.Response) string {
			t.Helper()
			data, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.StatusCode, string(data))
			var got any
			require.NoError(t, json.Unmarshal(data, &got))
			out, _ := field(got, "choices", 0, "message", "content").(string)
			return out
		}
		first := complete(user("Pay."))
		thread := "/threads/" + first.Header.Get("X-Thread-Id") + "/state"
		question := text(first)
		open := w.json(http.MethodGet, thread, nil)
		hash, _ := field(open, "interrupts", 0, "value", "hash").(string)
		assert.Equal(t, "Pay the invoice\npay: Pays.\narguments: {\"amount\":9007199254740993}\n\n"+
			`Answer "approve" or "reject", or as JSON: {"verdict":"approve","hash":"`+hash+`"}`, question)

		shown := []any{user("Pay."), map[string]any{"role": "assistant", "content": question}}
		for name, messages := range map[string][]any{
			"another word":              append(shown, user("perhaps")),
			"an answer of another call": append(shown, user(`{"verdict":"approve","hash":"x"}`)),
			"a word without the text":   {user("Pay."), map[string]any{"role": "assistant", "content": "May I?"}, user(answer)},
			"a word alone":              {user(answer)},
		} {
			r := complete(messages...)
			data, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			assert.Equal(t, http.StatusBadRequest, r.StatusCode, name)
			assert.Contains(t, string(data), "The thread waits for an answer", name)
			assert.Equal(t, field(open, "interrupts"), field(w.json(http.MethodGet, thread, nil), "interrupts"), name)
		}
		assert.Equal(t, "It is paid.", text(complete(append(shown, user(answer))...)))
		assert.Equal(t, want, field(w.json(http.MethodGet, thread, nil), "values", "messages", 2, "status"), answer)
	}
}

// The client answers several open questions together, by their ids.
func TestAnOpenAIClientApprovesSeveralCalls(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(
		llmtest.Calls(
			llm.ToolCall{ID: "a", Name: "pay", Arguments: json.RawMessage(`{"amount":1}`)},
			llm.ToolCall{ID: "b", Name: "pay", Arguments: json.RawMessage(`{"amount":2}`)},
		),
		llmtest.Say("Both are paid."),
	)
	w := newWire(t, func(o *server.Options) {
		o.Graphs["helper"] = payer(t, model, memcheckpoint.New(memcheckpoint.Options{}))
	})
	complete := func(messages ...any) string {
		got := w.json(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "helper", "messages": messages}, "X-Thread-Id", "talk")
		text, _ := field(got, "choices", 0, "message", "content").(string)
		return text
	}
	question := complete(user("Pay."))
	assert.Contains(t, question, ":\nPay the invoice\npay: Pays.\narguments: {\"amount\":2}\n\nAnswer all questions as JSON: {")
	_, answers, _ := strings.Cut(question, "as JSON: ")
	assert.Equal(t, "Both are paid.", complete(user("Pay."), map[string]any{"role": "assistant", "content": question}, user(answers)))
}

func TestAnOpenAIClientAnswersWithANumber(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["counts"] = counts(t) })
	complete := func(text string) *http.Response {
		return w.send(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "counts", "messages": []any{user(text)}}, "X-Thread-Id", "talk")
	}
	first := complete("Brew.")
	require.Equal(t, http.StatusOK, first.StatusCode)
	assert.Equal(t, http.StatusBadRequest, complete("many").StatusCode)
	require.Equal(t, http.StatusOK, complete("3").StatusCode)
	state := w.json(http.MethodGet, "/threads/"+first.Header.Get("X-Thread-Id")+"/state", nil)
	assert.EqualValues(t, 3, field(state, "values", "cups"))
}

func TestErrorsHaveTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	failing := llmtest.NewScript(llmtest.Fail(assert.AnError), llmtest.Fail(assert.AnError))
	w := newWire(t, func(o *server.Options) { o.Graphs["failing"] = clientToolsGraph(t, failing) })
	hi := []any{user("hi")}
	for name, c := range map[string]struct {
		body   any
		status int
		kind   string
	}{
		"no model":        {map[string]any{"messages": hi}, http.StatusBadRequest, "invalid_request_error"},
		"unknown model":   {map[string]any{"model": "nobody", "messages": hi}, http.StatusNotFound, "invalid_request_error"},
		"no conversation": {map[string]any{"model": "slow", "messages": hi}, http.StatusNotFound, "invalid_request_error"},
		"no messages":     {map[string]any{"model": "echo"}, http.StatusBadRequest, "invalid_request_error"},
		"several answers": {map[string]any{"model": "echo", "messages": hi, "n": 2}, http.StatusBadRequest, "invalid_request_error"},
		"a format":        {map[string]any{"model": "echo", "messages": hi, "response_format": map[string]any{"type": "json_object"}}, http.StatusBadRequest, "invalid_request_error"},
		"an unknown role": {map[string]any{"model": "echo", "messages": []any{map[string]any{"role": "x", "content": "y"}}}, http.StatusBadRequest, "invalid_request_error"},
		"no object":       {[]int{1}, http.StatusBadRequest, "invalid_request_error"},
		"a failure":       {map[string]any{"model": "failing", "messages": hi}, http.StatusInternalServerError, "server_error"},
	} {
		resp := w.send(http.MethodPost, "/v1/chat/completions", c.body)
		var got struct {
			Error struct{ Message, Type string }
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got), name)
		assert.Equal(t, c.status, resp.StatusCode, name)
		assert.Equal(t, c.kind, got.Error.Type, name)
		assert.NotEmpty(t, got.Error.Message, name)
	}
	chunks := w.chunks(w.send(http.MethodPost, "/v1/chat/completions", map[string]any{"model": "failing", "messages": hi, "stream": true}))
	assert.Equal(t, "server_error", chunks[len(chunks)-1]["error"].(map[string]any)["type"])

	secured := newWire(t, func(o *server.Options) {
		o.Auth = func(r *http.Request) (server.User, error) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				return server.User{}, assert.AnError
			}
			return server.User{ID: "ada"}, nil
		}
	})
	resp := secured.send(http.MethodGet, "/v1/models", nil)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	assert.Contains(t, string(data), `"code":"invalid_api_key"`)
	list := secured.json(http.MethodGet, "/v1/models", nil, "Authorization", "Bearer secret")["data"].([]any)
	assert.Len(t, list, 2, "echo and tools")
	assert.Equal(t, "echo", list[0].(map[string]any)["id"])
	assert.Equal(t, "echo", secured.json(http.MethodGet, "/v1/models/echo", nil, "Authorization", "Bearer secret")["id"])
	assert.Equal(t, http.StatusNotFound, secured.send(http.MethodGet, "/v1/models/slow", nil, "Authorization", "Bearer secret").StatusCode)
}

// The last message of the conversation may come from a subgraph, whose messages are not streamed.
func TestAnOpenAIClientGetsTheAnswerOfASubgraph(t *testing.T) {
	t.Parallel()
	inner := weatherAgent(t, llmtest.Say("Sunny."), llmtest.Say("Sunny."))
	b := graph.New("outer", agent.Messages)
	b.Subgraph("agent", inner)
	b.Edge(graph.Start, "agent")
	outer, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	w := newWire(t, func(o *server.Options) { o.Graphs["outer"] = outer })
	body := map[string]any{"model": "outer", "messages": []any{user("the weather?")}}
	got := w.json(http.MethodPost, "/v1/chat/completions", body)
	assert.Equal(t, "Sunny.", got["choices"].([]any)[0].(map[string]any)["message"].(map[string]any)["content"])
	body["stream"] = true
	var text strings.Builder
	for _, c := range w.chunks(w.send(http.MethodPost, "/v1/chat/completions", body)) {
		part, _ := c["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)["content"].(string)
		text.WriteString(part)
	}
	assert.Equal(t, "Sunny.", text.String())
}
