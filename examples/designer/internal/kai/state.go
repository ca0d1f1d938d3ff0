package kai

import (
	"encoding/json"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// The state of a conversation. Append, Sum and Last (which replaces) are the reducers.
var (
	Messages          = agent.Messages // appended to; a message is told by its id
	SystemPrompt      = state.Last[string]("systemPrompt")
	ToolResults       = state.Append[ToolResult]("toolResults")
	CollectedProducts = state.Append[catalogue.Product]("collectedProducts")
	// Iteration counts how often the model was asked in this turn.
	Iteration = state.Last[int]("iteration")
	// InputTokens and OutputTokens are what this turn has cost.
	InputTokens  = state.Sum[int64]("inputTokens")
	OutputTokens = state.Sum[int64]("outputTokens")
	// TurnCount is how many turns the conversation has had, for the bill.
	TurnCount = state.Sum[int]("turnCount")
	// FinalResponse is nil until the agent has given its final answer to this turn.
	FinalResponse = state.Last[*string]("finalResponse")
	// GenerationJob is the 3D scene that was made last in this turn. Two calls may write it in one
	// superstep: then the later one in the order of the calls counts.
	GenerationJob = state.LastWins[*Job]("generationJob")

	// called is the call that a task of the tools has to make.
	called = state.Last[llm.ToolCall]("toolCall")
)

// channels is the schema of the graph.
func channels() []state.Handle {
	return []state.Handle{
		Messages, SystemPrompt, ToolResults, CollectedProducts, Iteration, InputTokens, OutputTokens,
		TurnCount, FinalResponse, GenerationJob, called,
	}
}

// input is what a turn begins with: what the user said, the prompt, and counters at zero. What was
// said before is in the checkpoint.
func input(prompt, text string) state.Update {
	return append(fresh(prompt), Messages.Put(llm.User(text)))
}

// fresh is the input of a turn without the message.
func fresh(prompt string) state.Update {
	return state.Update{
		SystemPrompt.Put(prompt),
		ToolResults.Overwrite(nil), CollectedProducts.Overwrite(nil),
		Iteration.Put(0), InputTokens.Overwrite(0), OutputTokens.Overwrite(0),
		FinalResponse.Put(nil), GenerationJob.Put(nil),
		TurnCount.Put(1),
	}
}

// A ToolResult is what came of a call, for whoever reads the state.
type ToolResult struct {
	CallID string `json:"callId"`
	Tool   string `json:"tool"`
	Result string `json:"result"`
	Failed bool   `json:"failed,omitempty"`
}

// A Job is a 3D scene that was generated.
type Job struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Prompt   string   `json:"prompt"`
	Products []string `json:"products"`
	URL      string   `json:"url"`
	// Name and Type are for the page, which shows the scene as a file.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
}

// document is the state as one JSON document, in the form that programs in JavaScript keep it in.
func document(s state.View) (json.RawMessage, error) {
	said, err := llm.ToLangChain(Messages.Get(s))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"messages": json.RawMessage(said), "systemPrompt": SystemPrompt.Get(s), "toolResults": list(ToolResults.Get(s)),
		"collectedProducts": list(CollectedProducts.Get(s)), "iteration": Iteration.Get(s),
		"inputTokens": InputTokens.Get(s), "outputTokens": OutputTokens.Get(s), "turnCount": TurnCount.Get(s),
		"finalResponse": FinalResponse.Get(s), "generationJob": GenerationJob.Get(s),
	})
}

// list is a list that is never null in JSON.
func list[E any](l []E) []E { return append([]E{}, l...) }
