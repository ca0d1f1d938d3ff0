package agent

import (
	"encoding/json"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Result is how the last run of an agent ended, or that it did not: an agent
// that waits for a person, or failed, has no Reason. A graph that declares it
// shares it with the agents that are its subgraphs; of several, the last to
// write counts.
var Result = state.LastWins[Outcome]("agent_result")

// Usage is what all runs of a thread have cost, as far as the providers said. A
// graph that declares it adds up its agents. What one run of one agent cost is
// in its [Outcome].
var Usage = state.NewChannel("usage", llm.SumUsage)

// A Reason says why an agent stopped.
type Reason string

// The reasons of an agent to stop.
const (
	Running   Reason = ""               // it has not stopped
	Answered  Reason = "answered"       // the model had said everything
	OutOfTurn Reason = "turns"          // there was no turn left to call tools in; what the model said without is the last message
	CutOff    Reason = "length"         // the model ran into a limit; what it said is cut off
	Filtered  Reason = "content_filter" // the provider refused, or held something back
	Unfit     Reason = "unfit_answer"   // the answer did not fit its type, also when asked again
)

// An Outcome says how a run of an agent ended. While it goes on, it says how far
// it has come. A run is from one message of the user to the next, whatever it
// paused for between them; that of a subgraph is one call of it.
type Outcome struct {
	// Agent is the name of the agent.
	Agent  string `json:"agent"`
	Reason Reason `json:"reason,omitempty"`
	// Problem says more about a reason that is not [Answered], for people.
	Problem string `json:"problem,omitempty"`
	// Turns is how often the model was asked, a structured answer aside.
	Turns int `json:"turns"`
	// Usage is what this run has cost, structured answers included. A reply
	// whose cost is unknown counts as nothing.
	Usage llm.Usage `json:"usage"`
	// Answer is the structured answer; see [Answer].
	Answer json.RawMessage `json:"answer,omitempty"`
}

// A Turn is emitted when an agent asks its model.
type Turn struct {
	// Agent is the name of the agent.
	Agent string `json:"agent"`
	// Number counts the turns of the run, from 1; Most is how many there may be.
	Number int `json:"number"`
	Most   int `json:"most"`
}

// run is what an agent keeps of a run. Its channel bears the agent's name, so
// that an agent and those within it do not share it.
type run struct {
	Turns int       `json:"turns,omitempty"`
	Usage llm.Usage `json:"usage,omitzero"`
	// Withheld are the ids of calls of tools that the model was not given.
	Withheld []string `json:"withheld,omitempty"`
	// Reason and Problem say why the conversation has ended, while the
	// structured answer is still to follow.
	Reason  Reason `json:"reason,omitempty"`
	Problem string `json:"problem,omitempty"`
}
