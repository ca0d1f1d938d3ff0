package kai

import (
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// The nodes.
const (
	agentNode    = "agent"
	toolsNode    = "tools"
	approvalNode = "human_approval"
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

// compile builds the graph. The node human_approval makes the calls that wait for a person, and tools makes the others.
// Each call is a task of its own.
//
//	start ─▶ agent ─┬─▶ tools ──────────┬─▶ agent
//	                ├─▶ human_approval ─┘
//	                └─▶ end
func (k *kai) compile() (*graph.Graph, error) {
	all := channels()
	if k.options.Kit != nil {
		all = append(all, k.options.Kit.Channels()...)
	}
	b := graph.New("designer", all...)
	b.Node(agentNode, k.ask)
	b.Node(toolsNode, k.makeCall)
	b.Node(approvalNode, k.makeCall)
	b.Edge(graph.Start, agentNode)
	b.BranchMany(agentNode, k.next, toolsNode, approvalNode, graph.End)
	b.Edge(toolsNode, agentNode)
	b.Edge(approvalNode, agentNode)
	return b.Compile(k.options.Graph)
}
