package server

import (
	"encoding/json"

	"github.com/weft-go/weft/server/runs"
)

// A runnableView converts the events of a run to the events of the stream mode "events". These are LangChain's events of
// chains, chat models and tools, in version 2, also of subgraphs.
type runnableView struct {
	graph   string
	values  json.RawMessage            // the last values of the graph of the run
	tasks   map[string]json.RawMessage // the metadata of the running tasks
	replies map[string]*partialReply   // the messages that are being streamed
	about   metadataByID
}

func newRunnableView() *runnableView {
	return &runnableView{tasks: map[string]json.RawMessage{}, replies: map[string]*partialReply{}, about: metadataByID{}}
}

// A runnableEvent is an event of LangChain.
type runnableEvent struct {
	Event    string          `json:"event"`
	Name     string          `json:"name"`
	Run      string          `json:"run_id"`
	Parents  []string        `json:"parent_ids"`
	Tags     []string        `json:"tags"`
	Metadata json.RawMessage `json:"metadata"`
	Data     any             `json:"data"`
}

// events returns the LangChain events for an event of the log.
func (v *runnableView) events(e *runs.Event) (out []streamed, err error) {
	add := func(event, name, run string, metadata json.RawMessage, data any) {
		parents := []string{}
		if run != e.Run {
			parents = append(parents, e.Run)
		}
		out = append(out, streamed{"events", runnableEvent{event, name, run, parents, []string{}, orEmpty(metadata), data}})
	}
	switch e.Kind {
	case kindStart:
		var s runStart
		err = json.Unmarshal(e.Data, &s)
		v.graph = s.Graph
		add("on_chain_start", v.graph, e.Run, v.metadata(e), map[string]any{})
	case kindValues:
		if e.Path == "" {
			v.values = e.Data
		}
	case kindTask, kindUpdates, kindResult:
		err = v.task(e, add)
	case kindMessage:
		err = v.message(e, add)
	case kindTool:
		err = v.tool(e, add)
	case kindCustom, kindNamed:
		add("on_custom_event", customName(e.Data), e.Run, v.tasks[e.Task], e.Data)
	case kindEnd:
		add("on_chain_end", v.graph, e.Run, v.metadata(e), map[string]any{"output": orEmpty(v.values)})
	}
	return out, err
}

// customName returns the name of a value that a node emitted.
func customName(data json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(data, &named) != nil || named.Name == "" {
		return "custom"
	}
	return named.Name
}

func (v *runnableView) metadata(e *runs.Event) json.RawMessage {
	return encoded(map[string]string{"run_id": e.Run, "graph_id": v.graph})
}

type addRunnable func(event, name, run string, metadata json.RawMessage, data any)

// task adds the events for the beginning, the writes or the end of a task.
func (v *runnableView) task(e *runs.Event, add addRunnable) error {
	var t struct {
		ID         string            `json:"id"`
		Name       string            `json:"name"`
		Input      json.RawMessage   `json:"input"`
		Metadata   json.RawMessage   `json:"metadata"`
		Result     json.RawMessage   `json:"result"`
		Error      *string           `json:"error"`
		Interrupts []json.RawMessage `json:"interrupts"`
	}
	if e.Kind == kindUpdates {
		var byNode map[string]json.RawMessage
		if err := json.Unmarshal(e.Data, &byNode); err != nil {
			return err
		}
		for node, update := range byNode {
			add("on_chain_stream", node, e.Task, v.tasks[e.Task], map[string]any{"chunk": update})
		}
		if e.Path == "" {
			add("on_chain_stream", v.graph, e.Run, v.metadata(e), map[string]any{"chunk": e.Data})
		}
		return nil
	}
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return err
	}
	if e.Kind == kindTask {
		v.tasks[t.ID] = t.Metadata
		add("on_chain_start", t.Name, t.ID, t.Metadata, map[string]any{"input": t.Input})
		return nil
	}
	metadata := v.tasks[t.ID]
	delete(v.tasks, t.ID)
	if t.Error == nil && len(t.Interrupts) == 0 { // LangChain has no event for tasks that fail or wait
		add("on_chain_end", t.Name, t.ID, metadata, map[string]any{"output": t.Result})
	}
	return nil
}

// message adds the events for a chunk of a streamed message. It ignores whole messages, which were not streamed.
func (v *runnableView) message(e *runs.Event, add addRunnable) error {
	var m messageEvent
	if err := json.Unmarshal(e.Data, &m); err != nil || m.Whole {
		return err
	}
	var c chunkMessage
	if err := json.Unmarshal(m.Message, &c); err != nil {
		return err
	}
	const name = "model"
	run := nameID(e.Run, m.ID)
	r, metadata := v.replies[m.ID], v.about.of(e, &m)
	if r == nil {
		r = &partialReply{}
		v.replies[m.ID] = r
		add("on_chat_model_start", name, run, metadata, map[string]any{"input": map[string]any{"messages": []any{}}})
	}
	r.add(&c)
	for _, piece := range namedFirst(&c, m.Message) {
		add("on_chat_model_stream", name, run, metadata, map[string]any{"chunk": piece})
	}
	if c.Position == "last" {
		delete(v.replies, m.ID)
		delete(v.about, m.ID)
		output := r.message(m.ID)
		output["response_metadata"], output["usage_metadata"] = c.Response, c.Usage
		add("on_chat_model_end", name, run, metadata, map[string]any{"output": output})
	}
	return nil
}

// namedFirst returns a chunk of a message as clients read it. Clients take the name of a tool from one chunk and its
// arguments from the next ones, so namedFirst splits a chunk with both.
func namedFirst(c *chunkMessage, raw json.RawMessage) []json.RawMessage {
	if len(c.ToolCallChunks) != 1 || c.ToolCallChunks[0].Name == nil || c.ToolCallChunks[0].Args == "" {
		return []json.RawMessage{raw}
	}
	first, second, d := *c, *c, c.ToolCallChunks[0]
	first.ToolCallChunks = []toolCallChunk{{Name: d.Name, ID: d.ID, Index: d.Index, Type: d.Type}}
	second.ToolCallChunks = []toolCallChunk{{Args: d.Args, Index: d.Index, Type: d.Type}}
	return []json.RawMessage{encoded(first), encoded(second)}
}

// tool adds the event for the beginning or the end of a tool call.
func (v *runnableView) tool(e *runs.Event, add addRunnable) error {
	var t toolEvent
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return err
	}
	run, input := nameID(e.Run, t.ID), orEmpty(t.Input)
	switch t.Event {
	case toolStarted:
		add("on_tool_start", t.Name, run, v.tasks[e.Task], map[string]any{"input": input})
	case toolFinished, toolFailed: // the message of the tool has the error
		add("on_tool_end", t.Name, run, v.tasks[e.Task], map[string]any{"input": input, "output": t.Output})
	}
	return nil
}

// toolData returns the data of the stream mode "tools" for an event of a tool call.
func toolData(e *runs.Event) (map[string]any, error) {
	var t toolEvent
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return nil, err
	}
	data := map[string]any{"toolCallId": t.ID, "name": t.Name}
	switch t.Event {
	case toolStarted:
		data["event"], data["input"] = "on_tool_start", orEmpty(t.Input)
	case toolProgress:
		data["event"], data["data"] = "on_tool_event", t.Progress
	case toolFailed:
		data["event"], data["error"] = "on_tool_error", t.Error
	default:
		data["event"], data["output"] = "on_tool_end", t.Output
	}
	return data, nil
}
