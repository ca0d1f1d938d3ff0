package server

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
)

// Each graph with a conversation is an agent of AG-UI (ag-ui.com), version 1.0.

// An aguiInput is the request for a run.
type aguiInput struct {
	Thread   string                     `json:"threadId"`
	Run      string                     `json:"runId"`
	State    map[string]json.RawMessage `json:"state"`
	Messages []json.RawMessage          `json:"messages"`
	Tools    []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
	Context json.RawMessage `json:"context"`
	Props   json.RawMessage `json:"forwardedProps"`
	Resume  []struct {
		Interrupt string          `json:"interruptId"`
		Status    string          `json:"status"`
		Payload   json.RawMessage `json:"payload"`
	} `json:"resume"`
}

// An aguiMessage is a message of AG-UI.
type aguiMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content,omitempty"`
	Name    string          `json:"name,omitempty"`
	Calls   []chatCall      `json:"toolCalls,omitempty"`
	Call    string          `json:"toolCallId,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// runAGUI runs a graph and streams its events.
func (c *call) runAGUI() error {
	var in aguiInput
	if err := c.body(&in, true); err != nil {
		return err
	}
	if in.Thread == "" || in.Run == "" {
		return invalid("threadId or runId is missing.")
	}
	g, err := c.chatGraph(c.r.PathValue("assistant"))
	if err != nil {
		return err
	}
	thread := c.threadID(in.Thread)
	open, err := c.openOf(thread)
	if err != nil {
		return err
	}
	v := newAGUIView(g, &in)
	if len(open) > 0 && len(in.Resume) == 0 { // the client must answer them first
		for _, p := range open {
			v.questions = append(v.questions, newInterrupt(p))
		}
		return c.sendAGUI([]map[string]any{v.started(), v.finished(&runEnd{Paused: true})})
	}
	if err := in.checkAnswers(open); err != nil {
		return c.sendAGUI(append([]map[string]any{v.started()}, v.failed(err.Error(), "")...))
	}
	q, err := c.aguiRun(g, &in, thread)
	if err != nil {
		return err
	}
	a, err := c.start(q, thread)
	if err != nil {
		return err
	}
	out := c.startSSE()
	defer out.stop()
	send := func(events []map[string]any, err error) error {
		for _, ev := range events {
			if err == nil {
				err = out.data(encoded(ev))
			}
		}
		return err
	}
	if err := c.observe(a, func(e *runs.Event) error { return send(v.events(e)) }); err != nil {
		_ = send(v.failed(c.refusal(err).Detail, ""), nil) // the client may have left
	}
	return nil
}

// checkAnswers returns an error for an answer to a question that is not open.
func (in *aguiInput) checkAnswers(open []graph.Pause) error {
	for _, r := range in.Resume {
		if !isOpen(r.Interrupt, open) {
			return noQuestion(r.Interrupt, open)
		}
	}
	return nil
}

// sendAGUI sends the events of a run that the server does not start: because of open questions, or of a refused answer.
func (c *call) sendAGUI(events []map[string]any) error {
	out := c.startSSE()
	defer out.stop()
	for _, ev := range events {
		if err := out.data(encoded(ev)); err != nil {
			return nil //nolint:nilerr // the client has left
		}
	}
	return nil
}

// aguiRun converts a request of AG-UI to the request for a run.
func (c *call) aguiRun(g *served, in *aguiInput, thread string) (*runRequest, error) {
	q := &runRequest{Assistant: c.r.PathValue("assistant"), IfNotExists: "create"}
	if len(in.Resume) > 0 {
		answers := map[string]json.RawMessage{}
		for _, r := range in.Resume {
			answers[r.Interrupt] = orNull(r.Payload)
		}
		q.Command = &command{Resume: encoded(answers)}
		return q, nil
	}
	present, err := c.presentValues(thread)
	if err != nil {
		return nil, err
	}
	input, err := in.input(g, present)
	if err != nil {
		return nil, err
	}
	q.Input = encoded(input)
	fields := map[string]json.RawMessage{}
	if string(orNull(in.Context)) != "null" {
		fields["context"] = in.Context
	}
	if string(orNull(in.Props)) != "null" {
		fields["forwarded_props"] = in.Props
	}
	if len(fields) > 0 {
		q.Context = encoded(fields)
	}
	return q, nil
}

// presentValues returns the values of a thread as clients see them, or nil if there are none yet.
func (c *call) presentValues(thread string) (map[string]json.RawMessage, error) {
	values, _, err := c.presentState(thread)
	if isNotFound(err) || errors.Is(err, runs.ErrNotFound) {
		return nil, nil // the run will create the thread, or refuse a hidden one
	}
	return values, err
}

// input returns the changes of the client as the input of a run: the messages that the thread does not have, the changed
// values of plain channels, and the tools.
func (in *aguiInput) input(g *served, present map[string]json.RawMessage) (map[string]any, error) {
	input := map[string]any{}
	for name, value := range in.State {
		if !g.channels.plain[name] || g.channels.closed[name] || name == ClientTools.Name() || sameJSON(value, present[name]) {
			continue
		}
		input[name] = value
	}
	messages, err := in.unknown(present[g.conversation()])
	if err != nil {
		return nil, err
	}
	if len(messages) > 0 {
		if err := g.withMessages(input, messages); err != nil {
			return nil, err
		}
	}
	var specs []llm.ToolSpec
	for _, t := range in.Tools {
		schema := t.Parameters
		if string(orNull(schema)) == "null" {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		specs = append(specs, llm.ToolSpec{Name: t.Name, Description: t.Description, Schema: schema})
	}
	return input, g.withTools(input, specs)
}

// unknown returns the messages of the client whose ids a conversation does not have.
func (in *aguiInput) unknown(conversation json.RawMessage) ([]any, error) {
	var known []struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(orNull(conversation), &known) // values of the server
	ids := map[string]bool{}
	for _, k := range known {
		ids[k.ID] = true
	}
	messages := []any{}
	for _, data := range in.Messages {
		m, err := readAGUI(data)
		if err != nil {
			return nil, err
		}
		if m == nil || ids[m["id"].(string)] { //nolint:forcetypeassert // readAGUI sets it
			continue
		}
		messages = append(messages, m)
	}
	if _, err := readMessages(encoded(messages)); err != nil {
		return nil, invalid("The messages cannot be read: %v.", err)
	}
	return messages, nil
}

// sameJSON reports whether two JSON values are equal, apart from white space and the order of keys.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return bytes.Equal(encoded(x), encoded(y))
}

// readAGUI returns a message in the form of LangGraph's clients, or nil for a message that no model reads.
func readAGUI(data json.RawMessage) (map[string]any, error) {
	var m aguiMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, invalid("A message cannot be read: %v.", err)
	}
	if m.Role == "activity" || m.Role == "reasoning" {
		return nil, nil
	}
	content, err := aguiContent(m.Content)
	if err != nil {
		return nil, err
	}
	out, err := (&chatMessage{Role: m.Role, Content: content, Name: m.Name, Call: m.Call, Calls: m.Calls}).flat()
	if err != nil {
		return nil, err
	}
	out["id"] = m.ID
	if m.Error != "" {
		out["status"] = "error"
	}
	return out, nil
}

// aguiContent converts the media in the content of a message to the form of LangGraph's clients.
func aguiContent(content json.RawMessage) (json.RawMessage, error) {
	if !isArray(content) {
		return content, nil
	}
	var parts []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type  string `json:"type"`
			Value string `json:"value"`
			MIME  string `json:"mimeType"`
		} `json:"source"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, invalid("The content of a message cannot be read: %v.", err)
	}
	out := []map[string]any{}
	for _, p := range parts {
		part := map[string]any{"type": p.Type}
		switch {
		case p.Type == "text":
			part["text"] = p.Text
		case p.Source.Type == "data":
			part["base64"], part["mime_type"] = p.Source.Value, p.Source.MIME
		case p.Source.Type == "url":
			part["url"] = p.Source.Value
			if p.Source.MIME != "" {
				part["mime_type"] = p.Source.MIME
			}
		default:
			return nil, invalid("A part of a message has the type %q with a source of the type %q, which cannot be read.", shortened(p.Type), shortened(p.Source.Type))
		}
		if p.Type == "document" {
			part["type"] = "file"
		}
		out = append(out, part)
	}
	return encoded(out), nil
}
