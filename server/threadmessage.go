package server

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-go/weft/server/runs"
)

// A streamedReply is a message that is being streamed, in the form of content blocks.
type streamedReply struct {
	run   string
	task  string
	path  string
	node  string
	open  int // the index of the open block, or -1
	next  int
	kind  string
	text  strings.Builder
	call  partialCall
	index int // the index of the tool call
}

// message converts a chunk of a message to events of content blocks. It ignores whole messages, which clients get with
// the values.
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
		r = &streamedReply{run: e.Run, task: e.Task, path: e.Path, node: e.Node, open: -1}
		v.replies[m.ID] = r
		emit(map[string]any{"event": "message-start", "id": m.ID, "role": "ai", "metadata": metadataByID{}.of(e, &m)})
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

// cut ends the replies of a task, or of all tasks of a run, that an error or a stop has cut off, because no state
// contains them. Clients such as @langchain/react keep the text that they have read, so cut ends each block with an empty
// text.
func (v *threadView) cut(run, task string, at addEventAt) {
	for _, id := range v.repliesOf(run, task) {
		r := v.replies[id]
		add := at(r.path, r.node)
		for i := range r.next {
			add("messages", "messages", map[string]any{"event": "content-block-finish", "index": i, "content": map[string]any{"type": "text", "text": ""}})
		}
		add("messages", "messages", map[string]any{"event": "error", "message": "the reply was cut off"})
		delete(v.replies, id)
	}
}

// forget drops the replies of a task or of a run that has succeeded.
func (v *threadView) forget(run, task string) {
	for _, id := range v.repliesOf(run, task) {
		delete(v.replies, id)
	}
}

// repliesOf returns the ids of the replies that are being streamed, of a task or of all tasks of a run.
func (v *threadView) repliesOf(run, task string) []string {
	var ids []string
	for id, r := range v.replies {
		if r.run == run && (task == "" || r.task == task) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// add appends a text to the open block, or opens a block of this kind.
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

// addCall appends a chunk of a tool call to the open block, or opens a block for the call.
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
