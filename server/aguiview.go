package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/server/internal/question"
	"github.com/weft-go/weft/server/runs"
)

// An aguiView converts the events of a run to events of AG-UI.
type aguiView struct {
	g           *served
	thread, run string                     // as the client names them
	given       map[string]json.RawMessage // the messages of the client, by id
	replies     map[string]*aguiReply
	steps       map[string]int             // the number of running tasks of each node
	state       map[string]json.RawMessage // the state that the client has; nil before the first snapshot
	values      map[string]json.RawMessage
	questions   []interrupt
	usage       usageMetadata
}

// An aguiReply is a message that is being streamed.
type aguiReply struct {
	text, reasoning bool // begun and not yet ended
	calls           []*aguiCall
}

type aguiCall struct {
	id, name, args string // args holds the arguments until name is known
	begun          bool
}

func newAGUIView(g *served, in *aguiInput) *aguiView {
	v := &aguiView{g: g, thread: in.Thread, run: in.Run, given: map[string]json.RawMessage{}, replies: map[string]*aguiReply{}, steps: map[string]int{}}
	for _, data := range in.Messages {
		var m aguiMessage
		if json.Unmarshal(data, &m) == nil {
			v.given[m.ID] = data
		}
	}
	return v
}

type aguiEvents []map[string]any

func (out *aguiEvents) add(kind string, fields map[string]any) {
	fields["type"] = kind
	*out = append(*out, fields)
}

// events returns the AG-UI events for an event of the log.
func (v *aguiView) events(e *runs.Event) (out []map[string]any, err error) {
	var events aguiEvents
	root := e.Path == ""
	switch {
	case e.Kind == kindStart:
		events = aguiEvents{v.started()}
	case e.Kind == kindValues && root:
		err = v.changed(e, &events)
	case e.Kind == kindTask && root:
		if v.steps[e.Node]++; v.steps[e.Node] == 1 {
			events.add("STEP_STARTED", map[string]any{"stepName": e.Node})
		}
	case e.Kind == kindResult && root:
		err = v.stepped(e, &events)
	case e.Kind == kindMessage:
		err = v.message(e, &events)
	case e.Kind == kindCustom || e.Kind == kindNamed:
		events.add("CUSTOM", map[string]any{"name": customName(e.Data), "value": e.Data})
	case e.Kind == kindInterrupt && root:
		var i interruptEvent
		err = json.Unmarshal(e.Data, &i)
		v.questions = append(v.questions, i.Interrupts...)
	case e.Kind == kindEnd:
		err = v.end(e, &events)
	}
	return events, err
}

func (v *aguiView) started() map[string]any {
	return map[string]any{"type": "RUN_STARTED", "threadId": v.thread, "runId": v.run, "protocolVersion": "1.0"}
}

// changed adds the whole state the first time, and then its differences. Messages have events of their own.
func (v *aguiView) changed(e *runs.Event, out *aguiEvents) error {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(e.Data, &values); err != nil {
		return err
	}
	v.values = maps.Clone(values)
	delete(values, v.g.conversation())
	delete(values, ClientTools.Name())
	before := v.state
	v.state = values
	if before == nil {
		out.add("STATE_SNAPSHOT", map[string]any{"snapshot": values})
		return nil
	}
	var delta []map[string]any
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := "/" + pointerEscape.Replace(name)
		switch old, ok := before[name]; {
		case !ok:
			delta = append(delta, map[string]any{"op": "add", "path": path, "value": values[name]})
		case !sameJSON(old, values[name]):
			delta = append(delta, map[string]any{"op": "replace", "path": path, "value": values[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := values[name]; !ok {
			delta = append(delta, map[string]any{"op": "remove", "path": "/" + pointerEscape.Replace(name)})
		}
	}
	if len(delta) > 0 {
		out.add("STATE_DELTA", map[string]any{"delta": delta})
	}
	return nil
}

// pointerEscape escapes a part of a JSON pointer (RFC 6901).
var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// stepped adds the end of a node's step when the last of its tasks has ended.
func (v *aguiView) stepped(e *runs.Event, out *aguiEvents) error {
	var r resultEvent
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return err
	}
	if v.steps[r.Name] == 0 {
		return nil // the task has ended before, with another question
	}
	if v.steps[r.Name]--; v.steps[r.Name] == 0 {
		delete(v.steps, r.Name)
		out.add("STEP_FINISHED", map[string]any{"stepName": r.Name})
	}
	return nil
}

// message adds the events for a message or a chunk of one.
func (v *aguiView) message(e *runs.Event, out *aguiEvents) error {
	var m messageEvent
	if err := json.Unmarshal(e.Data, &m); err != nil {
		return err
	}
	if m.Whole {
		return v.whole(&m, out)
	}
	var c chunkMessage
	if err := json.Unmarshal(m.Message, &c); err != nil {
		return err
	}
	r := v.replies[m.ID]
	if r == nil {
		r = &aguiReply{}
		v.replies[m.ID] = r
	}
	text, _ := c.Content.(string)
	if blocks, ok := c.Content.([]any); ok {
		for _, b := range blocks {
			block, _ := b.(map[string]any)
			if part, ok := block["reasoning"].(string); ok {
				r.reason(m.ID, part, out)
			}
		}
	}
	if text != "" {
		r.say(m.ID, text, out)
	}
	for _, d := range c.ToolCallChunks {
		r.call(m.ID, &d, out)
	}
	v.spent(c.Usage)
	if c.Position == "last" {
		r.finish(m.ID, out)
		delete(v.replies, m.ID)
	}
	return nil
}

func (v *aguiView) spent(u *usageMetadata) {
	if u != nil {
		v.usage.Input += u.Input
		v.usage.Output += u.Output
		v.usage.Total += u.Total
	}
}

func reasoningID(message string) string { return message + "-reasoning" }

func (r *aguiReply) reason(id, text string, out *aguiEvents) {
	id = reasoningID(id)
	if !r.reasoning {
		r.reasoning = true
		out.add("REASONING_START", map[string]any{"messageId": id})
		out.add("REASONING_MESSAGE_START", map[string]any{"messageId": id, "role": "reasoning"})
	}
	out.add("REASONING_MESSAGE_CONTENT", map[string]any{"messageId": id, "delta": text})
}

func (r *aguiReply) endReasoning(id string, out *aguiEvents) {
	if r.reasoning {
		r.reasoning = false
		out.add("REASONING_MESSAGE_END", map[string]any{"messageId": reasoningID(id)})
		out.add("REASONING_END", map[string]any{"messageId": reasoningID(id)})
	}
}

func (r *aguiReply) say(id, text string, out *aguiEvents) {
	r.endReasoning(id, out)
	if !r.text {
		r.text = true
		out.add("TEXT_MESSAGE_START", map[string]any{"messageId": id, "role": "assistant"})
	}
	out.add("TEXT_MESSAGE_CONTENT", map[string]any{"messageId": id, "delta": text})
}

// call adds a chunk of a tool call. The call begins when its id and its name are known.
func (r *aguiReply) call(id string, d *toolCallChunk, out *aguiEvents) {
	r.endReasoning(id, out)
	for len(r.calls) <= d.Index && d.Index < maxCalls {
		r.calls = append(r.calls, &aguiCall{})
	}
	if d.Index < 0 || d.Index >= len(r.calls) {
		return
	}
	c := r.calls[d.Index]
	if d.ID != nil {
		c.id = *d.ID
	}
	if d.Name != nil {
		c.name = *d.Name
	}
	c.args += d.Args
	if c.id == "" || c.name == "" {
		return
	}
	if !c.begun {
		c.begun = true
		out.add("TOOL_CALL_START", map[string]any{"toolCallId": c.id, "toolCallName": c.name, "parentMessageId": id})
	}
	if c.args != "" {
		out.add("TOOL_CALL_ARGS", map[string]any{"toolCallId": c.id, "delta": c.args})
		c.args = ""
	}
}

// finish ends the parts of a message that have begun.
func (r *aguiReply) finish(id string, out *aguiEvents) {
	r.endReasoning(id, out)
	if r.text {
		r.text = false
		out.add("TEXT_MESSAGE_END", map[string]any{"messageId": id})
	}
	for _, c := range r.calls {
		if c.begun {
			c.begun = false
			out.add("TOOL_CALL_END", map[string]any{"toolCallId": c.id})
		}
	}
}

// A flatMessage is a message in the form of LangGraph's clients.
type flatMessage struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	Call    string          `json:"tool_call_id"`
	Status  string          `json:"status"`
	Usage   *usageMetadata  `json:"usage_metadata"`
	Calls   []struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"tool_calls"`
}

// whole adds a message that was not streamed.
func (v *aguiView) whole(m *messageEvent, out *aguiEvents) error {
	var f flatMessage
	if err := json.Unmarshal(m.Message, &f); err != nil {
		return err
	}
	switch f.Type {
	case "ai":
		r := &aguiReply{}
		if text := partText(f.Content); text != "" {
			r.say(m.ID, text, out)
		}
		for i, c := range f.Calls {
			r.call(m.ID, &toolCallChunk{ID: &c.ID, Name: &c.Name, Args: string(orEmpty(c.Args)), Index: i}, out)
		}
		r.finish(m.ID, out)
		v.spent(f.Usage)
	case "tool":
		out.add("TOOL_CALL_RESULT", map[string]any{"messageId": m.ID, "toolCallId": f.Call, "content": partText(f.Content), "role": "tool"})
	}
	return nil
}

// end adds the end of the run, after the ends of all messages and steps that have begun.
func (v *aguiView) end(e *runs.Event, out *aguiEvents) error {
	var end runEnd
	if err := json.Unmarshal(e.Data, &end); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(v.replies)) {
		v.replies[id].finish(id, out)
	}
	for _, name := range slices.Sorted(maps.Keys(v.steps)) {
		out.add("STEP_FINISHED", map[string]any{"stepName": name})
	}
	if end.Error != nil {
		*out = append(*out, v.failed(end.Error.Message, end.Error.Name)...)
		return nil
	}
	if v.values != nil {
		messages, err := v.messages()
		if err != nil {
			return err
		}
		out.add("MESSAGES_SNAPSHOT", map[string]any{"messages": messages})
	}
	*out = append(*out, v.finished(&end))
	return nil
}

func (v *aguiView) failed(text, code string) []map[string]any {
	out := map[string]any{"type": "RUN_ERROR", "message": text}
	if code != "" {
		out["code"] = code
	}
	return []map[string]any{out}
}

// finished returns the event for the end of a run without an error.
func (v *aguiView) finished(end *runEnd) map[string]any {
	outcome := map[string]any{"type": "success"}
	switch {
	case end.Status == runInterrupted:
		outcome["type"] = "cancelled"
	case len(v.questions) > 0:
		var list []map[string]any
		for _, q := range v.questions {
			list = append(list, map[string]any{
				"id": q.ID, "reason": "weft:interrupt", "message": question.Text(q.Value), "metadata": map[string]any{"value": q.Value},
			})
		}
		outcome = map[string]any{"type": "interrupt", "interrupts": list}
	default:
		if calls := v.waiting(); len(calls) > 0 {
			outcome["pendingToolCallIds"] = calls
		}
	}
	out := map[string]any{"type": "RUN_FINISHED", "threadId": v.thread, "runId": v.run, "outcome": outcome}
	if v.usage.Total > 0 {
		out["usage"] = []map[string]int64{{"inputTokens": v.usage.Input, "outputTokens": v.usage.Output, "totalTokens": v.usage.Total}}
	}
	return out
}

// waiting returns the ids of the tool calls in the last message. The client answers them.
func (v *aguiView) waiting() (ids []string) {
	var list []flatMessage
	if json.Unmarshal(orNull(v.values[v.g.conversation()]), &list) != nil || len(list) == 0 {
		return nil
	}
	for _, c := range list[len(list)-1].Calls {
		ids = append(ids, c.ID)
	}
	return ids
}

// messages returns the conversation. It returns the messages of the client unchanged.
func (v *aguiView) messages() ([]json.RawMessage, error) {
	var list []flatMessage
	if err := json.Unmarshal(orNull(v.values[v.g.conversation()]), &list); err != nil {
		return nil, err
	}
	out := []json.RawMessage{}
	for _, f := range list {
		if given, ok := v.given[f.ID]; ok {
			out = append(out, given)
			continue
		}
		m := aguiMessage{ID: f.ID, Role: f.Type, Content: encoded(partText(f.Content)), Name: f.Name, Call: f.Call}
		switch f.Type {
		case "human":
			m.Role = "user"
		case "ai":
			m.Role = "assistant"
		case "tool":
			m.Name = "" // AG-UI has the name in the call
			if f.Status == "error" {
				m.Error = partText(f.Content)
			}
		}
		for _, c := range f.Calls {
			call := chatCall{ID: c.ID, Type: "function"}
			call.Function.Name, call.Function.Arguments = c.Name, string(orEmpty(c.Args))
			m.Calls = append(m.Calls, call)
		}
		out = append(out, encoded(m))
	}
	return out, nil
}
