package chat

import (
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/state"
)

// The channels in addition to the messages. The user is not in the state but in the context of a run, so
// that no model sees it.
var (
	known = state.Last[int]("known")       // the number of messages at the beginning that are stored
	began = state.Last[time.Time]("began") // the time at which the run began
)

// docs:begin graph
// whole returns the graph of the service. It loads the conversation, runs the agent, saves the new
// messages and queues the turn for learning.
func (s *Service) whole(bot *graph.Graph, o graph.Options) (*graph.Graph, error) {
	b := graph.New("chat", agent.Messages, known, began)
	b.Node("load", s.load)
	b.Subgraph("agent", bot)
	b.Node("save", s.save)
	b.Node("learn", s.learn)
	b.Edge(graph.Start, "load")
	b.Edge("load", "agent")
	b.Edge("agent", "save")
	b.Edge("save", "learn")
	b.Edge("learn", graph.End)
	return b.Compile(o)
}

// docs:end
