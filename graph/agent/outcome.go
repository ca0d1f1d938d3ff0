package agent

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/named"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Result is the outcome of the last run of an agent. Its Reason is empty while the agent runs
// or waits for a person, and after a failure. A graph that declares the channel shares it with
// its agents, and the last write wins. Such a graph gets the outcome when the agent ends. Until then, and after a
// failure, the graph has the outcome of an earlier turn, so look at the error and at the pauses of its snapshot first.
var Result = state.LastWins[Outcome]("agent_result")

// Usage is the total usage of all runs of a thread, as reported by the providers. In a graph
// that declares the channel, it is the sum over all its agents. A sub-agent that fails adds
// nothing. If your own node calls [llm.As], [llm.Generate] or [Ask], the usage is not added: add Usage.Put(usage) to
// the update of the node. [Outcome] has the usage of one run of one agent. The channel is internal: clients of a
// server cannot write it, and results have it only if server.Options.Output names it.
var Usage = state.NewChannel("usage", llm.SumUsage).Internal()

// A Reason is the reason why an agent stopped.
type Reason string

// The reasons why an agent stops.
const (
	Running   Reason = ""               // the agent has not stopped
	Answered  Reason = "answered"       // the model answered without calling a tool
	OutOfTurn Reason = "turns"          // MaxTurns was reached; the last message is the reply, or says why there is none
	CutOff    Reason = "length"         // a token limit cut off the reply
	Filtered  Reason = "content_filter" // the provider refused or filtered the reply
	Unfit     Reason = "unfit_answer"   // two structured answers did not match their type
	Stopped   Reason = "stopped"        // a middleware stopped the run; see [Stop]
)

// An Outcome describes how a run of an agent ended. While the agent runs, it has the turns and
// the usage so far. A run begins with a user message and includes all pauses. If the agent is a
// subgraph, a run is one execution of the subgraph.
type Outcome struct {
	// Agent is the name of the agent.
	Agent  string `json:"agent"`
	Reason Reason `json:"reason,omitempty"`
	// Problem is a text that explains a reason other than [Answered]. For [Stopped] it is the
	// text of the message of [Stop].
	Problem string `json:"problem,omitempty"`
	// Turns is the number of turns. The requests of [llm.As] for a structured answer do
	// not count.
	Turns int `json:"turns"`
	// Usage is the usage of this run, structured answers included. A reply whose
	// usage is unknown counts as zero.
	Usage llm.Usage `json:"usage"`
	// Answer is the structured answer; see [Answer].
	Answer json.RawMessage `json:"answer,omitempty"`
}

// A Turn is emitted when an agent asks its model.
type Turn struct {
	// Agent is the name of the agent.
	Agent string `json:"agent"`
	// Number counts the turns of the run from 1. Most is Options.MaxTurns.
	Number int `json:"number"`
	Most   int `json:"most"`
}

// EventName makes package server stream the value as an event "agent_turn". Values of a program's own types are
// custom events.
func (Turn) EventName() named.Event { return named.Of[Turn]("agent_turn") }

// EventName makes package server stream the value as an event "agent_outcome". Values of a program's own types are
// custom events.
func (Outcome) EventName() named.Event { return named.Of[Outcome]("agent_outcome") }

// progress is the stored state of a run. Its channel has the agent's name, so that an agent and
// its subgraphs do not share it.
type progress struct {
	Turns int       `json:"turns,omitempty"`
	Usage llm.Usage `json:"usage,omitzero"`
	// Refused has the error texts of refused calls of the last reply, by the id of the call.
	// The other calls run.
	Refused map[string]string `json:"refused,omitempty"`
	// Reason, Problem and Answer say how the conversation ended. They are stored until the
	// structured answer and the AfterAgent functions have run.
	Reason  Reason          `json:"reason,omitempty"`
	Problem string          `json:"problem,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	// Next is the next node of the agent. If it is empty, the tool calls of the last reply run
	// next, or the run has ended.
	Next string `json:"next,omitempty"`
	// Length is the length of the conversation when a middleware jumped to the model.
	Length int `json:"length,omitempty"`
}
