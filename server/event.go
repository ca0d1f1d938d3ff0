package server

import (
	"encoding/json"

	"github.com/weft-go/weft/server/runs"
)

// The kinds of events in the log of a thread. All protocols are views of these events.
const (
	kindStart      = "start"      // a run begins: runStart
	kindValues     = "values"     // the state has changed: the values by channel
	kindUpdates    = "updates"    // a task has finished: its updates by channel
	kindCustom     = "custom"     // a node emitted a value
	kindNamed      = "named"      // a library emitted a value with a name, such as package agent
	kindMessage    = "message"    // a message, or a chunk of one: messageEvent
	kindTool       = "tool"       // a tool call begins, reports progress or ends: toolEvent
	kindCheckpoint = "checkpoint" // a superstep begins at a checkpoint: checkpointEvent
	kindTask       = "task"       // a task begins: taskEvent
	kindResult     = "result"     // a task ends: resultEvent
	kindInterrupt  = "interrupt"  // the run waits: interruptEvent
	kindAttempt    = "attempt"    // an attempt of a task failed, and another one follows: attemptEvent
	kindCut        = "cut"        // an inner task, or an attempt of one, failed: its replies are cut off
	kindSubgraph   = "subgraph"   // a subgraph begins or ends: subgraphEvent
	kindEnd        = "end"        // a run ends: runEnd
)

type runStart struct {
	Graph     string `json:"graph"`
	Assistant string `json:"assistant"`
	Attempt   int    `json:"attempt"`
}

type runEnd struct {
	Status string   `json:"status"`
	Paused bool     `json:"paused,omitempty"` // the thread is not done
	Undone bool     `json:"undone,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

type messageEvent struct {
	ID string `json:"id"`
	// Whole says that Message is a whole message and not a chunk.
	Whole   bool            `json:"whole,omitempty"`
	Message json.RawMessage `json:"message"`
	// Metadata describes the task. A whole message has it, and the first chunk of a streamed one; see metadataByID.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// metadataByID maps the ids of streamed messages to their metadata.
type metadataByID map[string]json.RawMessage

// of returns the metadata of a message, or of a chunk of one. If the first chunk is no longer kept, the metadata has only
// the fields that each event has.
func (by metadataByID) of(e *runs.Event, m *messageEvent) json.RawMessage {
	if len(m.Metadata) > 0 {
		by[m.ID] = m.Metadata
	}
	if by[m.ID] == nil {
		by[m.ID] = encoded(map[string]any{"run_id": e.Run, "langgraph_node": e.Node, "langgraph_step": e.Step})
	}
	return by[m.ID]
}

// The events of a tool call.
const (
	toolStarted  = "started"
	toolProgress = "progress"
	toolFinished = "finished"
	toolFailed   = "failed"
)

type toolEvent struct {
	Event    string          `json:"event"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input,omitempty"`    // the arguments
	Progress json.RawMessage `json:"progress,omitempty"` // a tools.Progress
	Output   json.RawMessage `json:"output,omitempty"`   // the message of the tool
	Error    string          `json:"error,omitempty"`    // its text, if the call failed
}

type checkpointEvent struct {
	Config       configurable               `json:"config"`
	ParentConfig *configurable              `json:"parent_config"`
	Checkpoint   *checkpointID              `json:"checkpoint"`
	Parent       *checkpointID              `json:"parent_checkpoint"`
	Metadata     checkpointMetadata         `json:"metadata"`
	Values       map[string]json.RawMessage `json:"values"`
	Next         []string                   `json:"next"`
	Tasks        []checkpointTask           `json:"tasks"`
}

type checkpointMetadata struct {
	Parents map[string]string `json:"parents"`
	Source  string            `json:"source"`
	Step    int               `json:"step"`
}

type configurable struct {
	Configurable *checkpointID `json:"configurable"`
}

type checkpointTask struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Interrupts []interrupt     `json:"interrupts"`
	State      json.RawMessage `json:"state,omitempty"`
	Checkpoint *checkpointID   `json:"checkpoint,omitempty"`
}

type taskEvent struct {
	ID       string                     `json:"id"`
	Name     string                     `json:"name"`
	Input    map[string]json.RawMessage `json:"input"`
	Triggers []string                   `json:"triggers"`
	Metadata json.RawMessage            `json:"metadata"`
}

type resultEvent struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Error      *string         `json:"error"`
	Result     json.RawMessage `json:"result"`
	Interrupts []interrupt     `json:"interrupts"`
}

// An interruptEvent has the open questions of one task. Without questions, the run waits at a static pause. Values is the
// state in which the run waits.
type interruptEvent struct {
	Interrupts []interrupt                `json:"interrupts"`
	Values     map[string]json.RawMessage `json:"values"`
}

type subgraphEvent struct {
	Event string `json:"event"`
	Graph string `json:"graph"`
	Task  string `json:"task"`
}
