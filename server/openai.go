package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/internal/question"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/tools"
)

// Each graph with a conversation is a model of OpenAI's protocol of chat completions. A request is a
// run on a thread of its own, unless it names a thread.

const (
	openaiPath   = "/v1/"
	threadHeader = "X-Thread-Id"
)

// A chatRequest is a request for a chat completion. The server ignores settings of the model, such as the temperature,
// because the graph decides them.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	N      *int `json:"n"`
	Format *struct {
		Type string `json:"type"`
	} `json:"response_format"`
	Metadata map[string]string `json:"metadata"`
}

// A chatMessage is a message of OpenAI's protocol.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Name    string          `json:"name,omitempty"`
	Call    string          `json:"tool_call_id,omitempty"`
	Calls   []chatCall      `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// flat returns the message in the form of LangGraph's clients.
func (m *chatMessage) flat() (map[string]any, error) {
	out := map[string]any{"role": m.Role, "content": m.Content}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		out["content"] = ""
	}
	if m.Name != "" {
		out["name"] = m.Name
	}
	if m.Call != "" {
		out["tool_call_id"] = m.Call
	}
	calls := []map[string]any{}
	for _, call := range m.Calls {
		args := json.RawMessage(call.Function.Arguments)
		if len(args) == 0 {
			args = emptyObject
		}
		if !json.Valid(args) {
			return nil, invalid("The arguments of the call %s are not JSON.", shortened(call.ID))
		}
		calls = append(calls, map[string]any{"id": call.ID, "name": call.Function.Name, "args": args, "type": "tool_call"})
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	return out, nil
}

// check returns an error if the request is invalid.
func (q *chatRequest) check() error {
	switch {
	case q.Model == "":
		return invalid("model is missing. It is the name of a graph.")
	case len(q.Messages) == 0:
		return invalid("messages is empty.")
	case q.N != nil && *q.N != 1:
		return invalid("n is %d; a graph gives one answer.", *q.N)
	case q.Format != nil && q.Format.Type != "text":
		return invalid("response_format is %q; the format of the answer is a matter of the graph.", shortened(q.Format.Type))
	}
	return nil
}

// specs returns the tools of the client.
func (q *chatRequest) specs() ([]llm.ToolSpec, error) {
	var out []llm.ToolSpec
	for _, t := range q.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, invalid("A tool is not a function with a name.")
		}
		schema := t.Function.Parameters
		if string(orNull(schema)) == "null" {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, llm.ToolSpec{Name: t.Function.Name, Description: t.Function.Description, Schema: schema})
	}
	return out, nil
}

// completeChat runs a graph and answers with its last message, or streams its messages.
func (c *call) completeChat() error {
	var q chatRequest
	if err := c.body(&q, true); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	g, err := c.modelGraph(q.Model)
	if err != nil {
		return err
	}
	thread := c.r.Header.Get(threadHeader)
	if thread == "" {
		thread = q.Metadata["thread_id"]
	}
	kept := thread != ""
	if kept {
		thread = c.threadID(thread)
	}
	rq, err := c.chatRun(&q, g, thread)
	if err != nil {
		return err
	}
	a, err := c.start(rq, thread)
	if err != nil {
		return err
	}
	if kept {
		c.w.Header().Set(threadHeader, thread)
	}
	answer := newChatAnswer(&q, g, a, kept)
	if q.Stream {
		return c.streamChat(a, answer)
	}
	if err := c.observe(a, func(e *runs.Event) error { return answer.add(e, nil) }); err != nil {
		return err
	}
	if answer.failure != nil {
		return answer.failure
	}
	return c.send(answer.whole())
}

// chatRun converts a request for a chat completion to the request for a run. If the request names a thread, only the
// messages after the last message of the assistant are new. If the thread has open questions, the last message is the
// answer.
func (c *call) chatRun(q *chatRequest, g *served, thread string) (*runRequest, error) {
	specs, err := q.specs()
	if err != nil {
		return nil, err
	}
	list := q.Messages
	rq := &runRequest{Assistant: q.Model, IfNotExists: "create"}
	if thread != "" {
		for i, m := range slices.Backward(q.Messages) {
			if m.Role == "assistant" {
				list = q.Messages[i+1:]
				break
			}
		}
		open, err := c.openOf(thread)
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			answer, err := q.answer(open)
			if err != nil {
				return nil, err
			}
			rq.Command = &command{Resume: answer}
			return rq, nil
		}
	}
	flat := []any{}
	for i := range list {
		m, err := list[i].flat()
		if err != nil {
			return nil, err
		}
		flat = append(flat, m)
	}
	if _, err := readMessages(encoded(flat)); err != nil {
		return nil, invalid("The messages cannot be read: %v.", err)
	}
	input := map[string]any{}
	if err := errors.Join(g.withMessages(input, flat), g.withTools(input, specs)); err != nil {
		return nil, err
	}
	rq.Input = encoded(input)
	return rq, nil
}

// answer returns the last message as the answer to the open questions. It refuses an answer that does not fit.
func (q *chatRequest) answer(open []graph.Pause) (json.RawMessage, error) {
	text := partText(q.Messages[len(q.Messages)-1].Content)
	answer := encoded(question.Answer(text))
	if d := q.decision(text, open); d != nil {
		answer = encoded(d)
	}
	_, err := readAnswers(answer, open)
	if err == nil {
		return answer, nil
	}
	if json.Valid([]byte(text)) { // try the text as JSON, for example as a number
		if _, err := readAnswers(json.RawMessage(text), open); err == nil {
			return json.RawMessage(text), nil
		}
	}
	return nil, invalid("The thread waits for an answer: %v.", err)
}

// decision returns the decision about a call for the word "approve" or "reject". It returns nil unless the message before
// the word shows the hash of the question, so that the decision is about this call and not about an earlier one.
func (q *chatRequest) decision(word string, open []graph.Pause) *tools.Decision {
	if len(open) != 1 || len(q.Messages) < 2 {
		return nil
	}
	asked, before := question.Approval(open[0].Prompt), q.Messages[len(q.Messages)-2]
	if asked == nil || before.Role != "assistant" || !strings.Contains(partText(before.Content), asked.Hash) {
		return nil
	}
	if d, ok := question.Decide(asked, word, ""); ok {
		return &d
	}
	return nil
}

// partText returns the text of the content of a message: a text, or an array of parts.
func partText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // other content has no text
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// streamChat sends the answer in chunks.
func (c *call) streamChat(a *activeRun, answer *chatAnswer) error {
	out := c.startSSE()
	defer out.stop()
	err := c.observe(a, func(e *runs.Event) error {
		return answer.add(e, func(delta map[string]any) error { return out.data(encoded(answer.piece(delta, nil))) })
	})
	if err == nil && answer.failure != nil {
		err = answer.failure
	}
	if err != nil {
		_ = out.data(encoded(openaiError(c.refusal(err)))) // the client may have left
		return nil
	}
	for _, piece := range answer.last() {
		if err := out.data(encoded(piece)); err != nil {
			return nil //nolint:nilerr // the client has left
		}
	}
	_ = out.data(json.RawMessage("[DONE]"))
	return nil
}

// openaiError returns a refusal in OpenAI's form.
func openaiError(r *Refusal) map[string]any {
	kind := "invalid_request_error"
	var code any
	switch {
	case r.Status == http.StatusUnauthorized:
		kind, code = "authentication_error", "invalid_api_key"
	case r.Status == http.StatusForbidden:
		kind = "permission_error"
	case r.Status == http.StatusNotFound:
		code = "model_not_found"
	case r.Status == http.StatusTooManyRequests:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case r.Status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return map[string]any{"error": map[string]any{"message": r.Detail, "type": kind, "param": nil, "code": code}}
}

// A model is a graph in the form of OpenAI's clients.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Owner   string `json:"owned_by"`
}

// listModels sends the graphs with a conversation that the user may see.
func (c *call) listModels() error {
	list := []model{}
	for name := range c.s.graphs {
		m, err := c.model(name)
		if err == nil {
			list = append(list, m)
		} else if _, ok := errors.AsType[*Refusal](err); !ok {
			return err
		}
	}
	slices.SortFunc(list, func(a, b model) int { return strings.Compare(a.ID, b.ID) })
	return c.send(map[string]any{"object": "list", "data": list})
}

func (c *call) getModel() error {
	m, err := c.model(c.r.PathValue("model"))
	if err != nil {
		return err
	}
	return c.send(m)
}

func (c *call) model(name string) (model, error) {
	_, err := c.modelGraph(name)
	return model{ID: name, Object: "model", Created: c.s.start.Unix(), Owner: "weft"}, err
}

// modelGraph returns the graph of a model. It returns an error if the graph has no conversation.
func (c *call) modelGraph(name string) (*served, error) {
	g, err := c.chatGraph(name)
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Status == http.StatusUnprocessableEntity {
		return nil, notFound("model", shortened(name))
	}
	return g, err
}
