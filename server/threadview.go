package server

import (
	"encoding/json"
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

// A threadView converts the events of a thread to events of the thread-centric protocol.
type threadView struct {
	graphs  map[string]string // the graph of each run
	replies map[string]*streamedReply
	held    *heldValues
}

// heldValues are values that wait for the event of their checkpoint. In the log, the checkpoint follows its values, but
// clients need the checkpoint first.
type heldValues struct {
	event threadEvent
	run   string
	path  string
}

func newThreadView() *threadView {
	return &threadView{graphs: map[string]string{}, replies: map[string]*streamedReply{}}
}

// events returns the protocol's events for an event of the log.
func (v *threadView) events(e *runs.Event) ([]threadEvent, error) {
	out, err := v.plain(e)
	if h := v.held; h != nil {
		v.held = nil
		if e.Kind == kindCheckpoint && h.run == e.Run && h.path == e.Path {
			out = append(out, h.event)
		} else {
			out = append([]threadEvent{h.event}, out...)
		}
	}
	if e.Kind == kindValues && err == nil {
		last := len(out) - 1
		v.held = &heldValues{event: out[last], run: e.Run, path: e.Path}
		out = out[:last]
	}
	return out, err
}

// plain returns the events for an event of the log, without the reordering of values and checkpoints.
func (v *threadView) plain(e *runs.Event) (out []threadEvent, err error) {
	at := addEventAt(func(path, node string) addEvent {
		namespace := []string{}
		if path != "" {
			namespace = strings.Split(path, "|")
		}
		return func(channel, method string, data any) {
			out = append(out, threadEvent{
				Type: "event", ID: position{e.Seq, len(out)}.id(), Seq: e.Seq*maxEvents + int64(len(out)), Method: method, channel: channel,
				Params: eventParams{Namespace: namespace, Timestamp: e.Time.UnixMilli(), Node: node, Data: data},
			})
		}
	})
	add := at(e.Path, e.Node)
	switch e.Kind {
	case kindStart:
		v.cut(e.Run, "", at) // cut off the replies of a server that was killed
		err = v.start(e, add)
	case kindValues:
		add("values", "values", e.Data)
	case kindUpdates:
		err = v.updates(e, add)
	case kindCustom, kindNamed:
		v.custom(e, add)
	case kindTool:
		err = v.tool(e, add)
	case kindTask:
		add("tasks", "tasks", e.Data)
	case kindAttempt, kindCut:
		v.cut(e.Run, e.Task, at)
	case kindResult:
		add("tasks", "tasks", e.Data)
		err = v.result(e, at)
	case kindCheckpoint:
		err = v.checkpoint(e, add)
	case kindSubgraph:
		err = v.subgraph(e, add)
	case kindMessage:
		err = v.message(e, add)
	case kindInterrupt:
		err = v.interrupt(e, add)
	case kindEnd:
		err = v.end(e, at)
	}
	return out, err
}

// maxEvents is the distance between the first seq of two successive events of the log. JavaScript represents the seq
// exactly for 2^33 events of a thread. An event that cuts off replies makes one event for each block and one for each
// reply: a run has fewer than 2^20 of them.
const maxEvents = 1 << 20

// lastSeq returns the largest seq of the protocol's events up to an event of the log, or 0 if there is none.
func lastSeq(event int64) int64 {
	if event == 0 {
		return 0
	}
	return (event+1)*maxEvents - 1
}

// updates adds the event for the update of a node. The name of the node is a field beside the data.
func (v *threadView) updates(e *runs.Event, add addEvent) error {
	var byNode map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &byNode); err != nil {
		return err
	}
	for _, update := range byNode {
		add("updates", "updates", orEmpty(update))
	}
	return nil
}

// custom adds the event for a value that a node emitted. A value with a name is on the channel of this name.
func (v *threadView) custom(e *runs.Event, add addEvent) {
	var named struct {
		Name *string `json:"name"`
	}
	if json.Unmarshal(e.Data, &named) == nil && named.Name != nil {
		add("custom:"+*named.Name, "custom", e.Data)
		return
	}
	add("custom", "custom", map[string]any{"payload": e.Data})
}

// tool adds the event for a tool call.
func (v *threadView) tool(e *runs.Event, add addEvent) error {
	var t toolEvent
	if err := json.Unmarshal(e.Data, &t); err != nil {
		return err
	}
	data := map[string]any{"tool_call_id": t.ID}
	switch t.Event {
	case toolStarted:
		data["event"], data["tool_name"], data["input"] = "tool-started", t.Name, orEmpty(t.Input)
	case toolProgress:
		data["event"], data["delta"] = "tool-output-delta", string(t.Progress)
	case toolFailed:
		data["event"], data["message"] = "tool-error", t.Error
	default:
		data["event"], data["output"] = "tool-finished", t.Output
	}
	add("tools", "tools", data)
	return nil
}

// An addEvent adds an event. An addEventAt returns an addEvent for a path and a node.
type (
	addEvent   func(channel, method string, data any)
	addEventAt func(path, node string) addEvent
)

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
	if e.Path != "" {
		return nil // the event of the root graph has the questions of its subgraphs
	}
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
	data := map[string]any{"id": c.Checkpoint.ID, "step": c.Metadata.Step, "source": c.Metadata.Source}
	if c.Parent != nil {
		data["parent_id"] = c.Parent.ID
	}
	add("checkpoints", "checkpoints", data)
	return nil
}

func (v *threadView) subgraph(e *runs.Event, add addEvent) error {
	var s subgraphEvent
	if err := json.Unmarshal(e.Data, &s); err != nil {
		return err
	}
	data := map[string]any{"event": s.Event, "graph_name": s.Graph}
	if s.Event == "started" {
		data["namespace"], data["trigger_call_id"] = strings.Split(e.Path, "|"), s.Task
	}
	add("lifecycle", "lifecycle", data)
	return nil
}

// result ends the replies of a task that has ended.
func (v *threadView) result(e *runs.Event, at addEventAt) error {
	var r resultEvent
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return err
	}
	if r.Error != nil {
		v.cut(e.Run, e.Task, at)
	} else {
		v.forget(e.Run, e.Task)
	}
	return nil
}

func (v *threadView) end(e *runs.Event, at addEventAt) error {
	var end runEnd
	if err := json.Unmarshal(e.Data, &end); err != nil {
		return err
	}
	if end.Error != nil || end.Status == runInterrupted {
		v.cut(e.Run, "", at)
	} else {
		v.forget(e.Run, "")
	}
	add := at(e.Path, e.Node)
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
