package agent

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// A ChunkKind says what a [Chunk] is.
type ChunkKind string

// The kinds of a chunk, with the fields that count.
const (
	ChunkNodeStarted  ChunkKind = "node_started"  // a task begins
	ChunkTurn         ChunkKind = "turn"          // Turn: a model is asked
	ChunkText         ChunkKind = "text"          // Text, MessageID: more of a reply
	ChunkReasoning    ChunkKind = "reasoning"     // Text, MessageID: more of the reasoning
	ChunkToolCall     ChunkKind = "tool_call"     // Delta, MessageID: more of a tool call
	ChunkUsage        ChunkKind = "usage"         // Usage, MessageID: a reply is complete
	ChunkToolStarted  ChunkKind = "tool_started"  // Call: a tool runs
	ChunkProgress     ChunkKind = "progress"      // Progress: what it says while it runs
	ChunkToolFinished ChunkKind = "tool_finished" // Call, Answer: the call has its answer, which gets an id as it is stored
	ChunkValue        ChunkKind = "value"         // Value: what else a node emitted
	ChunkNodeFinished ChunkKind = "node_finished" // Problem, when it failed
	ChunkApproval     ChunkKind = "approval"      // Pause, Question: a call waits for a person
	ChunkPause        ChunkKind = "pause"         // Pause: the run waits for something else
	ChunkOutcome      ChunkKind = "outcome"       // Outcome: an agent has ended
	ChunkEnd          ChunkKind = "end"           // Snapshot: the run has ended, or waits
	ChunkError        ChunkKind = "error"         // Problem: the run failed
)

// A Chunk is something that happened in a run, in the form in which a front end
// wants it. Kind says which of the fields count, beside those that say where it
// was. It can be written as JSON; Value and Snapshot are then left out.
type Chunk struct {
	Kind ChunkKind `json:"kind"`
	// Agent is the node that runs the agent as a subgraph, the innermost of
	// several. It is empty for the graph that was started.
	Agent string `json:"agent,omitempty"`
	// Path, Node and Task are as in [graph.Place].
	Path string `json:"path,omitempty"`
	Node string `json:"node,omitempty"`
	Task string `json:"task,omitempty"`
	// MessageID is the id of the model's reply that the chunk is a part of.
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
	Outcome  *Outcome          `json:"outcome,omitempty"`
	Problem  string            `json:"problem,omitempty"`
	Value    any               `json:"-"`
	Snapshot *graph.Snapshot   `json:"-"`
}

// Chunks turns the events of a run into chunks, those of agents within it
// included:
//
//	for chunk, err := range agent.Chunks(thread.Stream(ctx, agent.Messages.Put(llm.User("hello")))) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// It works for any graph: a node of one's own speaks by [Ask]. The texts of all
// chunks of kind ChunkText that have one MessageID are exactly the text of that
// message, whether the model streams or not. An error is the last pair; its
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

// chunksOf returns what an event amounts to.
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
		return emitted(c, e.Value)
	case graph.Paused:
		return paused(e)
	case graph.RunEnded:
		if e.Snapshot == nil { // of a subgraph
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

// emitted returns the chunks of what a node emitted.
func emitted(c Chunk, value any) []Chunk {
	switch v := value.(type) {
	case llm.Chunk:
		return said(c, v)
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

// said returns the chunk of a piece of a reply; none for one without content.
func said(c Chunk, piece llm.Chunk) []Chunk {
	c.MessageID = piece.MessageID
	switch piece.Kind {
	case llm.ChunkText, llm.ChunkReasoning:
		if piece.Text == "" {
			return nil
		}
		c.Kind, c.Text = ChunkText, piece.Text
		if piece.Kind == llm.ChunkReasoning {
			c.Kind = ChunkReasoning
		}
	case llm.ChunkToolCall:
		c.Kind, c.Delta = ChunkToolCall, piece.ToolCall
	default:
		c.Kind = ChunkUsage
		if piece.Usage != nil {
			c.Usage = *piece.Usage
		}
	}
	return []Chunk{c}
}

// paused returns a chunk for each thing that the run waits for. A subgraph's are
// told again by the graph around it, so only the outermost counts.
func paused(e graph.Paused) []Chunk {
	if e.Path != "" {
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
			c.Kind, c.Question = ChunkApproval, &q
		}
		out = append(out, c)
	}
	return out
}
