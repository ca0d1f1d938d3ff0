package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/internal/uuid"
)

const (
	threadKey         = "thread_id"
	answerName        = "answer"
	answerDescription = "Answers the question of a tool that waits. The result of the tool names the thread and the question."
	answerSchema      = `{"type":"object","required":["thread_id","answer"],"properties":{` +
		`"thread_id":{"type":"string","format":"uuid","description":"The thread that waits."},` +
		`"question_id":{"type":"string","description":"The question. It may be left out if there is only one."},` +
		`"answer":{"description":"The answer: any JSON value."}}}`
)

func copyBody(w io.Writer, resp *response) { _, _ = io.Copy(w, resp.body) } // the client may have left

// call runs the graph.
func (a *agent) call(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := map[string]json.RawMessage{}
	if len(q.Params.Arguments) > 0 {
		if err := json.Unmarshal(q.Params.Arguments, &args); err != nil {
			return failed("The arguments are not an object."), nil
		}
	}
	r := &toolRun{from: a.from.with(headerOf(q)), request: q, graph: a.graph, conversation: a.conversation, kept: true}
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

// An answerTool answers questions.
type answerTool struct{ from *origin }

func (t *answerTool) call(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Thread   string          `json:"thread_id"`
		Question string          `json:"question_id"`
		Answer   json.RawMessage `json:"answer"`
	}
	if err := json.Unmarshal(q.Params.Arguments, &args); err != nil || args.Thread == "" || len(args.Answer) == 0 {
		return failed("thread_id or answer is missing."), nil
	}
	from := t.from.with(headerOf(q))
	var thread struct {
		Metadata struct {
			Graph string `json:"graph_id"`
		} `json:"metadata"`
		Status     string                `json:"status"`
		Interrupts map[string][]question `json:"interrupts"`
	}
	if err := from.do(ctx, http.MethodGet, "/threads/"+args.Thread, nil, &thread); err != nil {
		return told(err)
	}
	if thread.Status != "interrupted" {
		return failed("The thread waits for no answer."), nil
	}
	resume := any(args.Answer)
	if args.Question != "" {
		if !asked(thread.Interrupts, args.Question) {
			return failed("The thread has no open question " + args.Question + "."), nil
		}
		resume = map[string]any{args.Question: args.Answer}
	}
	r := &toolRun{from: from, request: q, graph: thread.Metadata.Graph, thread: args.Thread, kept: true}
	return r.all(ctx, map[string]any{"assistant_id": r.graph, "command": map[string]any{"resume": resume}})
}

// asked reports whether a question is one of those of the tasks of a thread.
func asked(byTask map[string][]question, id string) bool {
	for _, open := range byTask {
		if slices.ContainsFunc(open, func(q question) bool { return q.ID == id }) {
			return true
		}
	}
	return false
}

func headerOf(q *mcp.CallToolRequest) http.Header {
	if q.Extra == nil {
		return nil
	}
	return q.Extra.Header
}

// A toolRun is the runs of a call of a tool: one, and another one after each answer.
type toolRun struct {
	from                        *origin
	request                     *mcp.CallToolRequest
	graph, conversation, thread string
	kept                        bool // the thread is the client's
	steps                       float64

	values    map[string]json.RawMessage
	failure   string
	questions []question
}

// A question is one at which the graph waits.
type question struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// all runs the graph until it has ended or waits for an answer that the client cannot give.
func (r *toolRun) all(ctx context.Context, body map[string]any) (*mcp.CallToolResult, error) {
	for {
		if err := r.one(ctx, body); err != nil {
			_ = r.forget(ctx) // the first error is the one to tell
			return told(err)
		}
		if len(r.questions) == 0 || r.failure != "" {
			return r.result(ctx)
		}
		answers := map[string]any{}
		for _, q := range r.questions {
			answer, ok, err := r.ask(ctx, q)
			if err != nil {
				return nil, err
			}
			if !ok {
				return r.waits(), nil
			}
			answers[q.ID] = answer
		}
		body = map[string]any{"assistant_id": r.graph, "command": map[string]any{"resume": answers}}
	}
}

// told returns a refusal of the server as the result of the tool, and any other error as it is.
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

// event takes an event of the run.
func (r *toolRun) event(ctx context.Context, name string, data json.RawMessage) error {
	switch name {
	case "values":
		values := map[string]json.RawMessage{}
		if err := json.Unmarshal(data, &values); err != nil {
			return err
		}
		if asked, ok := values["__interrupt__"]; ok {
			delete(values, "__interrupt__")
			var list []question
			if err := json.Unmarshal(asked, &list); err != nil {
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

// progress notifies the client of a step of the graph or of a call of a tool.
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
	// A client that has left ends the context.
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

// forget deletes the thread if it is not the client's.
func (r *toolRun) forget(ctx context.Context) error {
	if r.kept {
		return nil
	}
	return r.from.do(context.WithoutCancel(ctx), http.MethodDelete, "/threads/"+r.thread, nil, nil)
}

// conversationIn returns the name of the values that are messages.
func conversationIn(values map[string]json.RawMessage) string {
	if _, ok := lastText(values["messages"]); ok {
		return "messages"
	}
	return ""
}

// lastText returns the text of the last message of a conversation.
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

// waits says that the graph waits, and how to answer.
func (r *toolRun) waits() *mcp.CallToolResult {
	var text strings.Builder
	fmt.Fprintf(&text, "The tool waits for an answer. Call the tool %q with thread_id %q, question_id and answer.\n", answerName, r.thread)
	for _, q := range r.questions {
		fmt.Fprintf(&text, "Question %s: %s\n", q.ID, q.Value)
	}
	asked, err := json.Marshal(map[string]any{threadKey: r.thread, "questions": r.questions})
	if err != nil {
		return failed(err.Error())
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}}, StructuredContent: json.RawMessage(asked)}
}

// ask puts a question to the person at the client. It returns false if the client cannot ask or the
// person does not answer.
func (r *toolRun) ask(ctx context.Context, q question) (answer any, ok bool, err error) {
	params := r.request.Session.InitializeParams()
	if params == nil || params.Capabilities == nil || params.Capabilities.Elicitation == nil {
		return nil, false, nil
	}
	var fields struct {
		Question string   `json:"question"`
		Message  string   `json:"message"`
		Options  []string `json:"options"`
	}
	_ = json.Unmarshal(q.Value, &fields) // a question may be any value
	message := string(q.Value)
	for _, text := range []string{fields.Message, fields.Question} {
		if text != "" {
			message = text
		}
	}
	field := map[string]any{"type": "string", "title": "Answer"}
	if len(fields.Options) > 0 {
		field["enum"] = slices.Clone(fields.Options)
	}
	result, err := r.request.Session.Elicit(ctx, &mcp.ElicitParams{
		Mode: "form", Message: message,
		RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"answer": field}, "required": []string{"answer"}},
	})
	if err != nil || result.Action != "accept" {
		return nil, false, ctx.Err() // the tool "answer" can still answer
	}
	return answerOf(result.Content["answer"]), true, nil
}

// answerOf returns an answer that a person wrote as text: its JSON value if it is an object, an array,
// true or false, and else the text.
func answerOf(answer any) any {
	text, _ := answer.(string)
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v.(type) {
		case map[string]any, []any, bool:
			return v
		}
	}
	return answer
}
