package agent

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// A ChunkKind is the kind of a [Chunk].
type ChunkKind string

// The kinds of chunk. Each comment has the form "fields: event": the fields of the chunk that
// are set, if there are any, and then what happened.
const (
	ChunkNodeStarted  ChunkKind = "node_started"  // a task started
	ChunkTurn         ChunkKind = "turn"          // Turn: a model is asked
	ChunkText         ChunkKind = "text"          // Text, MessageID: the next part of a reply
	ChunkReasoning    ChunkKind = "reasoning"     // Text, MessageID: the next part of the reasoning
	ChunkToolCall     ChunkKind = "tool_call"     // Delta, MessageID: the next part of a tool call
	ChunkUsage        ChunkKind = "usage"         // Usage, MessageID: a reply is complete
	ChunkToolStarted  ChunkKind = "tool_started"  // Call: a tool runs
	ChunkProgress     ChunkKind = "progress"      // Progress: a running tool reports its progress
	ChunkToolFinished ChunkKind = "tool_finished" // Call, Answer: a tool call has a result; the stored result has an id
	ChunkValue        ChunkKind = "value"         // Value: any other value that a node emitted
	ChunkNodeFinished ChunkKind = "node_finished" // Problem (only if the task failed): a task ended
	ChunkApproval     ChunkKind = "approval"      // Pause, Question, Prompt: a call waits for a person
	ChunkPause        ChunkKind = "pause"         // Pause: the run waits for another answer
	ChunkOutcome      ChunkKind = "outcome"       // Outcome: an agent ended
	ChunkEnd          ChunkKind = "end"           // Snapshot: the run ended or paused
	ChunkError        ChunkKind = "error"         // Problem: the run failed
)

// A Chunk is an event of a run for front ends. Kind determines which fields are set in addition to
// Agent, Path, Node and Task. The JSON of a chunk does not have Snapshot.
type Chunk struct {
	Kind ChunkKind `json:"kind"`
	// Agent is the name of the innermost subgraph node around the event. It is empty
	// for the root graph.
	Agent string `json:"agent,omitempty"`
	// Path, Node and Task have the same meaning as in [graph.Place].
	Path string `json:"path,omitempty"`
	Node string `json:"node,omitempty"`
	Task string `json:"task,omitempty"`
	// MessageID is the id of the model's reply to which the chunk belongs.
	MessageID string `json:"message_id,omitempty"`

	Text     string            `json:"text,omitempty"`
	Turn     Turn              `json:"turn,omitzero"`
	Delta    llm.ToolCallDelta `json:"delta,omitzero"`
	Usage    llm.Usage         `json:"usage,omitzero"`
	Call     *llm.ToolCall     `json:"call,omitempty"`
	Answer   *llm.Message      `json:"answer,omitempty"`
	Progress *tools.Progress   `json:"progress,omitempty"`
	Pause    *graph.Pause      `json:"pause,omitempty"`
	Question *tools.Question   `json:"question,omitempty"`
	Prompt   string            `json:"prompt,omitempty"` // Question.Text: a text to show to a person
	Outcome  *Outcome          `json:"outcome,omitempty"`
	Problem  string            `json:"problem,omitempty"`
	Value    any               `json:"value,omitempty"` // in JSON, a value that cannot be encoded is its text
	Snapshot *graph.Snapshot   `json:"-"`
}

// MarshalJSON encodes a chunk for a front end.
func (c Chunk) MarshalJSON() ([]byte, error) {
	type plain Chunk
	if c.Value != nil {
		data, err := json.Marshal(c.Value)
		if err != nil {
			data, err = json.Marshal(fmt.Sprint(c.Value))
		}
		if err != nil {
			return nil, err
		}
		c.Value = json.RawMessage(data)
	}
	return json.Marshal(plain(c))
}

// Chunks converts the events of a run and of its subgraphs to chunks:
//
//	for chunk, err := range agent.Chunks(thread.Stream(ctx, agent.Messages.Put(llm.User("hello")))) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// Chunks works for any graph; nodes can call [Ask] to stream a model's reply. The
// concatenated texts of all ChunkText chunks with the same MessageID equal the text of
// that message, whether the model streams or not. An error is the last pair, and its
// chunk has the kind ChunkError. Leaving the loop cancels the run.
func Chunks(events iter.Seq2[graph.Event, error]) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for event, err := range events {
			if err != nil {
				yield(Chunk{Kind: ChunkError, Problem: err.Error()}, err)
				return
			}
			for _, c := range chunksOf(event) {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// chunksOf returns the chunks of one event.
func chunksOf(event graph.Event) []Chunk {
	c := at(event.At())
	switch e := event.(type) {
	case graph.TaskStarted:
		c.Kind = ChunkNodeStarted
	case graph.TaskFinished:
		if e.Saved || e.Asked {
			return nil
		}
		c.Kind = ChunkNodeFinished
		if e.Err != nil {
			c.Problem = e.Err.Error()
		}
	case graph.Emitted:
		return chunksOfValue(c, e.Value)
	case graph.Paused:
		return chunksOfPause(e)
	case graph.RunEnded:
		if e.Snapshot == nil { // the event belongs to a subgraph
			return nil
		}
		c.Kind, c.Snapshot = ChunkEnd, e.Snapshot
	default:
		return nil
	}
	return []Chunk{c}
}

func at(p graph.Place) Chunk {
	agent := p.Path[strings.LastIndexByte(p.Path, '/')+1:]
	agent, _, _ = strings.Cut(agent, "[")
	return Chunk{Agent: agent, Path: p.Path, Node: p.Node, Task: p.Task}
}

// chunksOfValue returns the chunks of an emitted value.
func chunksOfValue(c Chunk, value any) []Chunk {
	switch v := value.(type) {
	case llm.Chunk:
		return chunksOfReply(c, v)
	case Turn:
		c.Kind, c.Turn = ChunkTurn, v
	case Outcome:
		c.Kind, c.Outcome = ChunkOutcome, &v
	case tools.CallStarted:
		c.Kind, c.Call = ChunkToolStarted, &v.Call
	case tools.Progress:
		c.Kind, c.Progress = ChunkProgress, &v
	case tools.CallFinished:
		c.Kind, c.Call, c.Answer = ChunkToolFinished, &v.Call, &v.Answer
	default:
		c.Kind, c.Value = ChunkValue, value
	}
	return []Chunk{c}
}

// chunksOfReply returns the chunk for a part of a reply, or nil for an empty part.
func chunksOfReply(c Chunk, part llm.Chunk) []Chunk {
	c.MessageID = part.MessageID
	switch part.Kind {
	case llm.ChunkText, llm.ChunkReasoning:
		if part.Text == "" {
			return nil
		}
		c.Kind, c.Text = ChunkText, part.Text
		if part.Kind == llm.ChunkReasoning {
			c.Kind = ChunkReasoning
		}
	case llm.ChunkToolCall:
		c.Kind, c.Delta = ChunkToolCall, part.ToolCall
	case llm.ChunkPart:
		c.Kind, c.Value = ChunkValue, *part.Part
	default:
		c.Kind = ChunkUsage
		if part.Usage != nil {
			c.Usage = *part.Usage
		}
	}
	return []Chunk{c}
}

// chunksOfPause returns one chunk per pause. The root graph repeats the pauses of its subgraphs, so
// only its event is converted.
func chunksOfPause(e graph.Paused) []Chunk {
	if e.At().Path != "" {
		return nil
	}
	var out []Chunk
	for _, p := range e.Pauses {
		path, task := "", p.Path
		if i := strings.LastIndexByte(p.Path, '/'); i >= 0 {
			path, task = p.Path[:i], p.Path[i+1:]
		}
		node, _, _ := strings.Cut(task, "[")
		c := at(graph.Place{Path: path, Node: node, Task: task})
		c.Kind, c.Pause = ChunkPause, &p
		var q tools.Question
		if p.Kind == graph.Question && p.Interrupt == Approval.Name() && json.Unmarshal(p.Prompt, &q) == nil {
			c.Kind, c.Question, c.Prompt = ChunkApproval, &q, q.Text()
		}
		out = append(out, c)
	}
	return out
}
