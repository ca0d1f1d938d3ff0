package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/internal/uuid"
)

const threadKey = "thread_id"

func copyBody(w io.Writer, resp *response) { _, _ = io.Copy(w, resp.body) } // the client may have left

// call runs the graph for a tool call.
func (a *agent) call(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := map[string]json.RawMessage{}
	if len(q.Params.Arguments) > 0 {
		if err := json.Unmarshal(q.Params.Arguments, &args); err != nil {
			return failed("The arguments are not an object."), nil
		}
	}
	if args == nil { // the arguments were null
		args = map[string]json.RawMessage{}
	}
	r := &toolRun{from: a.from.with(headerOf(q)), request: q, answers: a.answers, graph: a.graph, conversation: a.conversation, kept: true}
	if err := json.Unmarshal(orNull(args[threadKey]), &r.thread); err != nil {
		return failed("thread_id is not a text."), nil
	}
	delete(args, threadKey)
	if r.thread == "" {
		r.thread, r.kept = uuid.New(), false
	}
	body := map[string]any{"assistant_id": a.graph, "input": args}
	if a.conversation != "" {
		message := map[string]any{"role": "user", "content": args["message"]}
		body["input"] = map[string]any{a.conversation: []any{message}}
	}
	return r.all(ctx, body)
}

func headerOf(q *mcp.CallToolRequest) http.Header {
	if q.Extra == nil {
		return nil
	}
	return q.Extra.Header
}

// A toolRun executes the runs of one tool call: the first run, and another run after each answer.
type toolRun struct {
	from                        *origin
	request                     *mcp.CallToolRequest
	answers                     Answers
	graph, conversation, thread string
	kept                        bool // the client named the thread, which is not deleted
	steps                       float64

	values    map[string]json.RawMessage
	failure   string
	questions []asked
	numbers   map[string]any // the last answers with texts converted to numbers, or nil if no text is a number
}

// maxRefused is the number of successive answers that do not fit after which the person is not asked again.
const maxRefused = 5

// all runs the graph until it has ended or waits for an answer that the client cannot give. If body is nil, it begins
// with the open questions instead of a run.
func (r *toolRun) all(ctx context.Context, body map[string]any) (*mcp.CallToolResult, error) {
	refused, first := 0, "" // first is the reason why the text form of a number was refused
	for {
		problem, err := "", error(nil)
		if body != nil {
			problem, err = r.step(ctx, body)
		}
		if err != nil {
			return told(err)
		}
		if len(r.questions) == 0 {
			return r.result(ctx)
		}
		if problem != "" && r.numbers != nil {
			body, r.numbers, first = r.resume(r.numbers), nil, problem
			continue
		}
		if refused++; problem == "" {
			refused, r.numbers = 0, nil
		} else if first != "" {
			problem = first + "\nAs a number: " + problem
		}
		first = ""
		var answers map[string]any
		if refused < maxRefused {
			answers, err = r.ask(ctx, problem)
		}
		if err != nil {
			return nil, err
		}
		if answers == nil {
			return r.waits(), nil
		}
		body = r.resume(answers)
	}
}

// resume returns the request for a run with answers by the ids of their questions.
func (r *toolRun) resume(answers map[string]any) map[string]any {
	return map[string]any{"assistant_id": r.graph, "command": map[string]any{"resume": answers}}
}

// step starts a run. If the run refuses an answer, step returns the reason, and the question stays open.
func (r *toolRun) step(ctx context.Context, body map[string]any) (problem string, err error) {
	if err := r.one(ctx, body); err != nil {
		_ = r.forget(ctx) // the caller gets the first error
		return "", err
	}
	if r.failure == "" {
		return "", nil
	}
	r.questions = nil
	if body["command"] == nil {
		return "", nil
	}
	t, err := r.from.thread(ctx, r.thread)
	r.questions = t.questions()
	return r.failure, err
}

// told returns a refusal of the server as the result of the tool, and any other error unchanged.
func told(err error) (*mcp.CallToolResult, error) {
	if e, ok := errors.AsType[*refusal](err); ok && e.status < http.StatusInternalServerError {
		return failed(e.text), nil
	}
	return nil, err
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// one starts a run and reads its events.
func (r *toolRun) one(ctx context.Context, body map[string]any) error {
	r.questions, r.failure = nil, ""
	body["if_not_exists"], body["on_disconnect"] = "create", "cancel"
	body["stream_mode"] = []string{"values", "tasks", "tools"}
	resp, err := r.from.send(ctx, http.MethodPost, "/threads/"+r.thread+"/runs/stream", body)
	if err != nil {
		return err
	}
	defer resp.close()
	lines := bufio.NewReader(resp.body)
	event := ""
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch field {
		case "event":
			event = value
		case "data":
			if err := r.event(ctx, event, json.RawMessage(value)); err != nil {
				return err
			}
		}
	}
}

// event handles an event of the run.
func (r *toolRun) event(ctx context.Context, name string, data json.RawMessage) error {
	switch name {
	case "values":
		values := map[string]json.RawMessage{}
		if err := json.Unmarshal(data, &values); err != nil {
			return err
		}
		if open, ok := values["__interrupt__"]; ok {
			delete(values, "__interrupt__")
			var list []asked
			if err := json.Unmarshal(open, &list); err != nil {
				return err
			}
			r.questions = append(r.questions, list...)
		}
		r.values = values
	case "error":
		var e struct {
			Name    string `json:"error"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		r.failure = e.Name + ": " + e.Message
	case "tasks", "tools":
		r.progress(ctx, data)
	}
	return nil
}

// progress notifies the client of a step of the graph or of a tool call.
func (r *toolRun) progress(ctx context.Context, data json.RawMessage) {
	token := r.request.Params.GetProgressToken()
	var e struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
		Event string          `json:"event"`
		Data  struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	if token == nil || json.Unmarshal(data, &e) != nil || e.Event == "" && len(e.Input) == 0 {
		return
	}
	text := e.Name
	switch {
	case e.Event == "on_tool_start":
		text = "calls " + e.Name
	case e.Event == "on_tool_event" && e.Data.Message != "":
		text = e.Name + ": " + e.Data.Message
	case e.Event != "":
		return
	}
	r.steps++
	// Ignore the error: if the client has left, the context ends.
	_ = r.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: r.steps, Message: text})
}

// result returns the result of a graph that has ended.
func (r *toolRun) result(ctx context.Context) (*mcp.CallToolResult, error) {
	if err := r.forget(ctx); err != nil {
		return nil, fmt.Errorf("deleting the thread of the call: %w", err)
	}
	if r.failure != "" {
		return failed(r.failure), nil
	}
	if r.conversation == "" {
		r.conversation = conversationIn(r.values)
	}
	if text, ok := lastText(r.values[r.conversation]); ok {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	data, err := json.Marshal(r.values)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data)}, nil
}

// forget deletes the thread, unless the client named it.
func (r *toolRun) forget(ctx context.Context) error {
	if r.kept {
		return nil
	}
	return r.from.do(context.WithoutCancel(ctx), http.MethodDelete, "/threads/"+r.thread, nil, nil)
}

// conversationIn returns "messages" if the channel with this name ends with a message of the assistant, or else "".
func conversationIn(values map[string]json.RawMessage) string {
	if _, ok := lastText(values["messages"]); ok {
		return "messages"
	}
	return ""
}

// lastText returns the text of the last message of a conversation. It returns false unless this is a message of the
// assistant.
func lastText(data json.RawMessage) (string, bool) {
	var list []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(orNull(data), &list) != nil || len(list) == 0 || list[len(list)-1].Type != "ai" {
		return "", false
	}
	var text string
	content := list[len(list)-1].Content
	if json.Unmarshal(content, &text) == nil {
		return text, true
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", false
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, true
}

func orNull(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage("null")
	}
	return data
}
