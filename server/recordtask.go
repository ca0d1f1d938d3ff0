package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/named"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// metadata returns the metadata of a task, which is part of its messages.
func (r *recorder) metadata(sc *scope, at *graph.Place) json.RawMessage {
	step := r.stepOf(sc, at.Step)
	ns := nodeOf(at.Task) + ":" + r.taskID(sc, at.Task, at.Step)
	if outer := sc.namespace(); outer != "" {
		ns = outer + "|" + ns
	}
	own := encoded(map[string]any{
		"run_id": r.run.id, "thread_id": r.run.thread, "graph_id": r.run.g.name, "assistant_id": r.run.data.Assistant,
		"langgraph_node": nodeOf(at.Task), "langgraph_step": step, "langgraph_checkpoint_ns": ns, "checkpoint_ns": ns,
		"langgraph_triggers": []string{}, "langgraph_path": []string{"__pregel_pull", nodeOf(at.Task)},
	})
	all, err := merged(r.run.record.Metadata, own)
	if err != nil {
		return own
	}
	return all
}

// taskStarted writes the event for the beginning of a task of a superstep.
func (r *recorder) taskStarted(sc *scope, step *graph.Place, task string, v state.View) error {
	at := *step
	at.Task, at.Node = task, nodeOf(task)
	read := sc.channels.values
	if strings.HasSuffix(task, "]") { // leave out initial values, since a sent task may see only the sent writes
		read = sc.channels.written
	}
	input, err := read(v)
	if err != nil {
		return err
	}
	id := r.taskID(sc, task, at.Step)
	return r.write(sc, &at, kindTask, taskEvent{ID: id, Name: at.Node, Input: input, Triggers: []string{}, Metadata: r.metadata(sc, &at)})
}

// isInner reports whether a task is an inner task, such as a task of a flow.
func isInner(task string) bool { return strings.Contains(task, "~") }

func (r *recorder) emitted(sc *scope, at *graph.Place, e graph.Emitted) error {
	switch v := e.Value.(type) {
	case triedError:
		return r.attempt(sc, at, v)
	case logLine:
		r.logged(sc, at, v)
		return nil
	case llm.Chunk:
		v.MessageID = r.messageID(at, v)
		m := messageEvent{ID: v.MessageID, Message: encoded(newChunkMessage(v))}
		if !r.sent[v.MessageID] {
			r.sent[v.MessageID] = true
			m.Metadata = r.metadata(sc, at)
		}
		return r.write(sc, at, kindMessage, m)
	case llm.Message:
		v.ID = cmp.Or(v.ID, uuid.New())
		return r.messages(sc, at, []llm.Message{v})
	case tools.CallStarted:
		return r.write(sc, at, kindTool, toolEvent{Event: toolStarted, ID: v.Call.ID, Name: v.Call.Name, Input: v.Call.Arguments})
	case tools.Progress:
		return r.write(sc, at, kindTool, toolEvent{Event: toolProgress, ID: v.CallID, Name: v.Tool, Progress: encoded(v)})
	case tools.CallFinished:
		return r.called(sc, at, v)
	}
	data, err := json.Marshal(e.Value)
	if err != nil {
		data = encoded(fmt.Sprint(e.Value))
	}
	if name, ok := named.NameOf(e.Value); ok {
		if with, err := merged(data, encoded(map[string]string{"name": name})); err == nil {
			return r.write(sc, at, kindNamed, with)
		}
	}
	return r.write(sc, at, kindCustom, json.RawMessage(data))
}

// called writes the event for the answer to a tool call.
func (r *recorder) called(sc *scope, at *graph.Place, f tools.CallFinished) error {
	flat, err := flatMessages([]llm.Message{f.Answer})
	if err != nil {
		return err
	}
	e := toolEvent{Event: toolFinished, ID: f.Call.ID, Name: f.Call.Name, Input: f.Call.Arguments, Output: flat[1 : len(flat)-1]}
	if f.Answer.Status == llm.StatusError {
		e.Event, e.Error = toolFailed, f.Answer.Text()
	}
	return r.write(sc, at, kindTool, e)
}

// messages writes the messages that were not sent to clients before.
func (r *recorder) messages(sc *scope, at *graph.Place, list []llm.Message) error {
	for _, m := range list {
		if r.sent[m.ID] {
			continue
		}
		r.sent[m.ID] = true
		flat, err := flatMessages([]llm.Message{m})
		if err != nil {
			return err
		}
		if err := r.write(sc, at, kindMessage, messageEvent{ID: m.ID, Whole: true, Message: flat[1 : len(flat)-1], Metadata: r.metadata(sc, at)}); err != nil {
			return err
		}
	}
	return nil
}

// messageID returns the id of the message of a chunk. All chunks of a reply without ids get the same new id.
func (r *recorder) messageID(at *graph.Place, c llm.Chunk) string {
	if c.MessageID != "" {
		return c.MessageID
	}
	task := placeKey(at)
	id := cmp.Or(r.unnamed[task], uuid.New())
	r.unnamed[task] = id
	if c.Kind == llm.ChunkEnd {
		delete(r.unnamed, task)
	}
	return id
}

func placeKey(at *graph.Place) string { return at.Path + "/" + at.Task }

func (r *recorder) taskFinished(sc *scope, at *graph.Place, e graph.TaskFinished) error {
	delete(r.unnamed, placeKey(at))
	drained := r.drained(e.Err)
	if isInner(at.Task) {
		if e.Err != nil && !drained {
			return r.write(sc, at, kindCut, struct{}{})
		}
		return nil
	}
	if !noWrites(e.Update) {
		sc.wrote = true
	}
	if e.Saved || e.Asked {
		return nil
	}
	id := r.taskID(sc, at.Task, at.Step)
	result := resultEvent{ID: id, Name: nodeOf(at.Task), Result: emptyObject, Interrupts: []interrupt{}}
	kept := taskResult{Started: r.begun[id], Ended: at.Time, Node: result.Name, Step: r.stepOf(sc, at.Step), Run: r.run.id, Attempts: r.failed[id], Logs: r.logs[id]}
	delete(r.begun, id)
	delete(r.failed, id)
	delete(r.logs, id)
	if e.Err != nil {
		r.fail(e.Err, &result, &kept)
	} else {
		if _, sub := sc.channels.subs[nodeOf(at.Task)]; !sub { // the scope of a subgraph has written the messages of the subgraph
			var err error
			if kept.Usage, err = r.updated(sc, at, e.Update); err != nil {
				return err
			}
		}
		update, err := sc.channels.update(e.Update)
		if err != nil {
			return err
		}
		shown, err := sc.channels.shownUpdate(update)
		if err != nil {
			return err
		}
		if err := r.write(sc, at, kindUpdates, map[string]json.RawMessage{nodeOf(at.Task): shown}); err != nil {
			return err
		}
		if string(update) != "null" {
			result.Result, kept.Result = update, update
		}
	}
	r.keep(id, sc.checkpoint, kept)
	if drained { // the next server ends the task
		return nil
	}
	return r.write(sc, at, kindResult, result)
}

// drained reports whether a task ended with an error because its subgraph was drained.
func (r *recorder) drained(err error) bool {
	return errors.Is(err, graph.ErrDrained) && errors.Is(context.Cause(r.run.ctx), graph.ErrDrained)
}

// fail stores the error of a task in its results.
func (r *recorder) fail(err error, result *resultEvent, kept *taskResult) {
	f, _ := nodeFailure(err)
	text := f.Name + ": " + f.Message
	result.Error, kept.Error = &text, text
	if r.drained(err) || r.run.ctx.Err() != nil && errors.Is(err, context.Canceled) { // the node has not failed, and is still due
		kept.Error, kept.Ended = "", time.Time{}
	}
}

// updated writes the messages of an update, and returns the total usage of the messages.
func (r *recorder) updated(sc *scope, at *graph.Place, u state.Update) (*llm.Usage, error) {
	var usage *llm.Usage
	for _, w := range u {
		if _, ok := sc.channels.messages[w.Channel()]; !ok {
			continue
		}
		var write struct {
			Op    string
			Value json.RawMessage
		}
		data, err := json.Marshal(w)
		if err == nil {
			err = json.Unmarshal(data, &write)
		}
		if err != nil {
			return nil, err
		}
		if write.Op == "remove" || write.Op == "clear" {
			continue
		}
		if !isArray(write.Value) {
			write.Value = append(append(json.RawMessage("["), write.Value...), ']')
		}
		list, err := storedMessages(write.Value)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if m.Usage != nil {
				sum := *m.Usage
				if usage != nil {
					sum = usage.Add(sum)
				}
				usage = &sum
			}
		}
		if err := r.messages(sc, at, list); err != nil {
			return nil, err
		}
	}
	return usage, nil
}
