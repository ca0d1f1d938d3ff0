package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weft-go/weft/server/internal/question"
	"github.com/weft-go/weft/server/runs"
)

// A chatAnswer collects the answer of a run in the form of a chat completion.
type chatAnswer struct {
	id        string
	created   int64
	model     string
	channel   string // the channel of the messages
	withUsage bool   // the stream ends with the usage
	kept      bool   // the thread is kept, so that a question can be answered
	tools     map[string]bool

	text     strings.Builder // the streamed text
	message  string          // the id of the message that is being streamed
	streamed map[string]bool // the ids of the streamed messages
	begun    bool
	usage    chatUsage
	reason   string // why the model stopped
	values   json.RawMessage
	question []interrupt
	failure  error
}

type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func newChatAnswer(q *chatRequest, g *served, a *activeRun, kept bool) *chatAnswer {
	answer := &chatAnswer{
		id: "chatcmpl-" + a.id, created: now().Unix(), model: q.Model, channel: g.conversation(), kept: kept, withUsage: q.StreamOptions.Usage, tools: map[string]bool{}, streamed: map[string]bool{}, reason: "stop",
	}
	for _, t := range q.Tools {
		answer.tools[t.Function.Name] = true
	}
	return answer
}

// add handles an event of the run. If stream is not nil, add calls it with each part of the text.
func (a *chatAnswer) add(e *runs.Event, stream func(delta map[string]any) error) error {
	switch e.Kind {
	case kindValues:
		if e.Path == "" {
			a.values = e.Data
		}
	case kindMessage:
		return a.addMessage(e, stream)
	case kindInterrupt:
		var i interruptEvent
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		if e.Path == "" {
			a.question = append(a.question, i.Interrupts...)
		}
	case kindEnd:
		return a.end(e, stream)
	}
	return nil
}

// addMessage handles a message or a chunk of one. From messages of subgraphs, it counts only the usage.
func (a *chatAnswer) addMessage(e *runs.Event, stream func(map[string]any) error) error {
	var m messageEvent
	if err := json.Unmarshal(e.Data, &m); err != nil {
		return err
	}
	var c struct {
		Type     string          `json:"type"`
		Content  json.RawMessage `json:"content"`
		Usage    *usageMetadata  `json:"usage_metadata"`
		Response struct {
			Reason string `json:"finish_reason"`
		} `json:"response_metadata"`
	}
	if err := json.Unmarshal(m.Message, &c); err != nil {
		return err
	}
	if c.Type != "ai" && c.Type != "AIMessageChunk" {
		return nil
	}
	if c.Usage != nil {
		a.usage.Prompt += c.Usage.Input
		a.usage.Completion += c.Usage.Output
		a.usage.Total += c.Usage.Total
	}
	if e.Path != "" {
		return nil
	}
	if c.Response.Reason != "" {
		a.reason = finishReason(c.Response.Reason)
	}
	text := partText(c.Content)
	if text == "" {
		return nil
	}
	if a.message != "" && a.message != m.ID { // separates two messages
		text = "\n\n" + text
	}
	a.message, a.streamed[m.ID] = m.ID, true
	return a.write(text, stream)
}

// write adds a text to the answer.
func (a *chatAnswer) write(text string, stream func(map[string]any) error) error {
	a.text.WriteString(text)
	if stream == nil {
		return nil
	}
	delta := map[string]any{"content": text}
	if !a.begun {
		delta["role"] = "assistant"
	}
	a.begun = true
	return stream(delta)
}

// finishReason returns OpenAI's name for the reason why a model stopped.
func finishReason(reason string) string {
	switch reason {
	case "length", "max_tokens":
		return "length"
	case "content_filter", "refusal", "filtered":
		return "content_filter"
	}
	return "stop"
}

// end handles the end of the run. If the run waits at questions, they are the text of the answer.
func (a *chatAnswer) end(e *runs.Event, stream func(map[string]any) error) error {
	var end runEnd
	if err := json.Unmarshal(e.Data, &end); err != nil {
		return err
	}
	switch {
	case end.Error != nil:
		a.failure = refuse(http.StatusInternalServerError, "%s: %s", end.Error.Name, end.Error.Message)
	case end.Status == runInterrupted:
		a.failure = refuse(http.StatusConflict, "The run was cancelled.")
	case len(a.question) > 0 && !a.kept:
		a.failure = refuse(http.StatusConflict, "The agent asks a question, and an answer needs a thread. Name one in the header %s: %s", threadHeader, question.Text(a.question[0].Value))
	case len(a.question) > 0:
		text := askText(a.question)
		if a.text.Len() > 0 {
			text = "\n\n" + text
		}
		a.message = ""
		return a.write(text, stream)
	}
	return nil
}

// askText returns the text of questions. It includes instructions for the client if there is an approval or several
// questions.
func askText(questions []interrupt) string {
	if len(questions) == 1 {
		text := question.Text(questions[0].Value)
		if asked := question.Approval(questions[0].Value); asked != nil {
			text += "\n\nAnswer \"approve\" or \"reject\", or as JSON: " + string(encoded(asked.Approve()))
		}
		return text
	}
	var texts, answers []string
	for _, q := range questions {
		answer := "…"
		if asked := question.Approval(q.Value); asked != nil {
			answer = string(encoded(asked.Approve()))
		}
		texts = append(texts, "Question "+q.ID+":\n"+question.Text(q.Value))
		answers = append(answers, `"`+q.ID+`": `+answer)
	}
	return strings.Join(texts, "\n\n") + "\n\nAnswer all questions as JSON: {" + strings.Join(answers, ", ") + "}"
}

// result returns the text and the id of the last message of the assistant, and its calls of tools of the client.
func (a *chatAnswer) result() (text, id string, calls []chatCall) {
	text = a.text.String()
	var values map[string]json.RawMessage
	var list []struct {
		ID      string          `json:"id"`
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
		Calls   []struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"tool_calls"`
	}
	if json.Unmarshal(a.values, &values) != nil || json.Unmarshal(values[a.channel], &list) != nil || len(list) == 0 {
		return text, "", nil
	}
	last := list[len(list)-1]
	if last.Type != "ai" || len(a.question) > 0 {
		return text, "", nil
	}
	for _, c := range last.Calls {
		if a.tools[c.Name] {
			call := chatCall{ID: c.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, string(orEmpty(c.Args))
			calls = append(calls, call)
		}
	}
	return partText(last.Content), last.ID, calls
}

func (a *chatAnswer) finish(calls []chatCall) string {
	if len(calls) > 0 {
		return "tool_calls"
	}
	return a.reason
}

// whole returns the answer as one object.
func (a *chatAnswer) whole() map[string]any {
	text, _, calls := a.result()
	message := map[string]any{"role": "assistant", "content": text, "refusal": nil}
	if len(calls) > 0 {
		message["tool_calls"] = calls
		if text == "" {
			message["content"] = nil
		}
	}
	return map[string]any{
		"id": a.id, "object": "chat.completion", "created": a.created, "model": a.model, "usage": a.usage,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.finish(calls)}},
	}
}

// piece returns a chunk of the streamed answer.
func (a *chatAnswer) piece(delta map[string]any, reason any) map[string]any {
	return map[string]any{
		"id": a.id, "object": "chat.completion.chunk", "created": a.created, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason}},
	}
}

// last returns the chunks that end the streamed answer. They contain the last message of the conversation if it was not
// streamed, for example because it came from a subgraph.
func (a *chatAnswer) last() []map[string]any {
	text, id, calls := a.result()
	var out []map[string]any
	stream := func(delta map[string]any) error {
		out = append(out, a.piece(delta, nil))
		return nil
	}
	if id != "" && text != "" && !a.streamed[id] {
		if a.text.Len() > 0 {
			text = "\n\n" + text
		}
		_ = a.write(text, stream) // stream returns no error
	}
	for i := range calls {
		calls[i].Index = &i
		delta := map[string]any{"tool_calls": calls[i : i+1]}
		if !a.begun {
			delta["role"], delta["content"] = "assistant", nil
		}
		a.begun = true
		out = append(out, a.piece(delta, nil))
	}
	out = append(out, a.piece(map[string]any{}, a.finish(calls)))
	if a.withUsage {
		usage := a.piece(nil, nil)
		usage["choices"], usage["usage"] = []any{}, a.usage
		out = append(out, usage)
	}
	return out
}
