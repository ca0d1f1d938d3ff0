package server

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weft-go/weft/server/runs"
)

// A threadEvent is an event of the thread-centric protocol.
type threadEvent struct {
	Type    string      `json:"type"`
	ID      string      `json:"event_id"`
	Seq     int64       `json:"seq"`
	Method  string      `json:"method"`
	Params  eventParams `json:"params"`
	channel string
}

type eventParams struct {
	Namespace []string `json:"namespace"`
	Timestamp int64    `json:"timestamp"` // milliseconds since 1970
	Node      string   `json:"node,omitempty"`
	Data      any      `json:"data"`
}

// A threadView turns the events of a thread into those of the thread-centric protocol.
type threadView struct {
	graphs  map[string]string // the graph of each run
	replies map[string]*streamedReply
}

// A streamedReply is a message that is being streamed, as blocks of content.
type streamedReply struct {
	open  int // the index of the open block, or -1
	next  int
	kind  string
	text  strings.Builder
	call  partialCall
	index int // the index of the call
}

func newThreadView() *threadView {
	return &threadView{graphs: map[string]string{}, replies: map[string]*streamedReply{}}
}

// events returns the events of the protocol for an event of the log.
func (v *threadView) events(e *runs.Event) ([]threadEvent, error) {
	var out []threadEvent
	namespace := []string{}
	if e.Path != "" {
		namespace = strings.Split(e.Path, "|")
	}
	add := func(channel, method string, data any) {
		out = append(out, threadEvent{
			Type: "event", ID: strconv.FormatInt(e.Seq, 10) + "-" + strconv.Itoa(len(out)), Method: method, channel: channel,
			Params: eventParams{Namespace: namespace, Timestamp: e.Time.UnixMilli(), Node: e.Node, Data: data},
		})
	}
	switch e.Kind {
	case kindStart:
		err := v.start(e, add)
		return out, err
	case kindValues:
		add("values", "values", e.Data)
	case kindUpdates:
		add("updates", "updates", e.Data)
	case kindCustom:
		add("custom", "custom", e.Data)
	case kindTask, kindResult:
		add("tasks", "tasks", e.Data)
	case kindCheckpoint:
		err := v.checkpoint(e, add)
		return out, err
	case kindSubgraph:
		err := v.subgraph(e, namespace, add)
		return out, err
	case kindMessage:
		err := v.message(e, add)
		return out, err
	case kindInterrupt:
		if len(namespace) > 0 {
			return nil, nil // the root has the same question
		}
		err := v.interrupt(e, add)
		return out, err
	case kindEnd:
		err := v.end(e, add)
		return out, err
	}
	return out, nil
}

type addEvent func(channel, method string, data any)

func (v *threadView) start(e *runs.Event, add addEvent) error {
	var s runStart
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return err
	}
	v.graphs[e.Run] = s.Graph
	add("lifecycle", "lifecycle", map[string]any{"event": "running", "graph_name": s.Graph})
	return nil
}

func (v *threadView) interrupt(e *runs.Event, add addEvent) error {
	var i interruptEvent
	if err := json.Unmarshal(e.Data, &i); err != nil {
		return err
	}
	for _, q := range i.Interrupts {
		add("input", "input.requested", map[string]any{"interrupt_id": q.ID, "payload": q.Value})
	}
	return nil
}

func (v *threadView) checkpoint(e *runs.Event, add addEvent) error {
	var c checkpointEvent
	if err := json.Unmarshal(e.Data, &c); err != nil {
		return err
	}
	data := map[string]any{"id": c.Checkpoint.ID, "step": c.Metadata["step"], "source": c.Metadata["source"]}
	if c.Parent != nil {
		data["parent_id"] = c.Parent.ID
	}
	add("checkpoints", "checkpoints", data)
	return nil
}

func (v *threadView) subgraph(e *runs.Event, namespace []string, add addEvent) error {
	var s subgraphEvent
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return err
	}
	data := map[string]any{"event": s.Event, "graph_name": s.Graph}
	if s.Event == "started" {
		data["namespace"], data["trigger_call_id"] = namespace, s.Task
	}
	add("lifecycle", "lifecycle", data)
	return nil
}

func (v *threadView) end(e *runs.Event, add addEvent) error {
	var end runEnd
	if err := json.Unmarshal(e.Data, &end); err != nil {
		return err
	}
	data := map[string]any{"event": "completed", "graph_name": v.graphs[e.Run]}
	switch {
	case end.Error != nil:
		data["event"], data["error"] = "failed", end.Error.Message
	case end.Paused || end.Status == runInterrupted:
		data["event"] = "interrupted"
	}
	delete(v.graphs, e.Run)
	add("lifecycle", "lifecycle", data)
	return nil
}

// message turns a piece of a message into events of its blocks. Whole messages come with the
// values.
func (v *threadView) message(e *runs.Event, add addEvent) error {
	var m messageEvent
	if err := json.Unmarshal(e.Data, &m); err != nil || m.Whole {
		return err
	}
	var c chunkMessage
	if err := json.Unmarshal(m.Message, &c); err != nil {
		return err
	}
	r := v.replies[m.ID]
	emit := func(data map[string]any) { add("messages", "messages", data) }
	if r == nil {
		r = &streamedReply{open: -1}
		v.replies[m.ID] = r
		emit(map[string]any{"event": "message-start", "id": m.ID, "role": "ai", "metadata": m.Metadata})
	}
	switch content := c.Content.(type) {
	case string:
		if content != "" {
			r.add("text", content, emit)
		}
	case []any:
		for _, b := range content {
			block, _ := b.(map[string]any)
			if text, ok := block["reasoning"].(string); ok {
				r.add("reasoning", text, emit)
			}
		}
	}
	for _, d := range c.ToolCallChunks {
		r.addCall(&d, emit)
	}
	if c.Position == "last" {
		r.finish(emit)
		end := map[string]any{"event": "message-finish"}
		if c.Usage != nil {
			end["usage"] = c.Usage
		}
		emit(end)
		delete(v.replies, m.ID)
	}
	return nil
}

// add appends a text to the open block, or opens one of its kind.
func (r *streamedReply) add(kind, text string, emit func(map[string]any)) {
	if r.open < 0 || r.kind != kind {
		r.finish(emit)
		r.start(kind)
		emit(map[string]any{"event": "content-block-start", "index": r.open, "content": map[string]any{"type": kind, kind: ""}})
	}
	r.text.WriteString(text)
	emit(map[string]any{"event": "content-block-delta", "index": r.open, "delta": map[string]any{"type": kind + "-delta", kind: text}})
}

func (r *streamedReply) start(kind string) {
	r.open, r.kind = r.next, kind
	r.next++
	r.text.Reset()
}

// addCall appends a piece of a call to the open block, or opens one for the call.
func (r *streamedReply) addCall(d *toolCallChunk, emit func(map[string]any)) {
	if r.open < 0 || r.kind != "tool_call" || r.index != d.Index {
		r.finish(emit)
		r.start("tool_call")
		r.call, r.index = partialCall{}, d.Index
		if d.ID != nil {
			r.call.id = *d.ID
		}
		if d.Name != nil {
			r.call.name = *d.Name
		}
		emit(map[string]any{"event": "content-block-start", "index": r.open, "content": map[string]any{
			"type": "tool_call_chunk", "id": r.call.id, "name": r.call.name, "args": "", "index": d.Index,
		}})
	}
	r.text.WriteString(d.Args)
	emit(map[string]any{"event": "content-block-delta", "index": r.open, "delta": map[string]any{"type": "tool-call-delta", "args": d.Args}})
}

// finish ends the open block.
func (r *streamedReply) finish(emit func(map[string]any)) {
	if r.open < 0 {
		return
	}
	content := map[string]any{"type": r.kind, r.kind: r.text.String()}
	if r.kind == "tool_call" {
		args := json.RawMessage(r.text.String())
		if !json.Valid(args) {
			args = emptyObject
		}
		content = map[string]any{"type": "tool_call", "id": r.call.id, "name": r.call.name, "args": args}
	}
	emit(map[string]any{"event": "content-block-finish", "index": r.open, "content": content})
	r.open = -1
}
