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

// The channels of a conversation. Append, Sum, Last and LastWins name their reducers; Last and
// LastWins replace the value.
var (
	Messages          = agent.Messages // appends a message, or replaces the message with its id
	SystemPrompt      = state.Last[string]("systemPrompt")
	ToolResults       = state.Append[ToolResult]("toolResults")
	CollectedProducts = state.Append[catalogue.Product]("collectedProducts")
	// Iteration counts the model calls of this turn.
	Iteration = state.Last[int]("iteration")
	// InputTokens and OutputTokens count the tokens of this turn.
	InputTokens  = state.Sum[int64]("inputTokens")
	OutputTokens = state.Sum[int64]("outputTokens")
	// TurnCount counts the turns of the conversation.
	TurnCount = state.Sum[int]("turnCount")
	// FinalResponse is nil until the agent has given its final answer to this turn.
	FinalResponse = state.Last[*string]("finalResponse")
	// GenerationJob is the last 3D scene of this turn. If two calls write it in one superstep, the
	// later call in task order wins.
	GenerationJob = state.LastWins[*Job]("generationJob")

	// called is the tool call of a sent task.
	called = state.Last[llm.ToolCall]("toolCall")
)

// channels is the schema of the graph.
func channels() []state.Handle {
	return []state.Handle{
		Messages, SystemPrompt, ToolResults, CollectedProducts, Iteration, InputTokens, OutputTokens,
		TurnCount, FinalResponse, GenerationJob, called,
	}
}

// compile builds the graph. The node human_approval runs the calls that wait for approval, and tools runs the others.
// Each call is a separate task.
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
