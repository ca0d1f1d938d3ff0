package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Active is the name of the active agent of a [Swarm].
var Active = state.Last[string]("agent_active")

// Handoff returns a middleware with a tool that hands over the conversation to another agent
// of a [Swarm]. The name of the tool is HandoverPrefix followed by the name of the agent. A
// reply can hand over only once: a second handover is answered with an error. The other tool
// calls of the reply run.
//
// If the swarm has no agent of this name, the handover fails the run.
// AfterAgent functions do not run at a handover, because the run continues.
func Handoff(to, description string) Middleware {
	name := HandoverPrefix + to
	tool := tools.New(name, "Hands over the conversation to the agent "+to+". "+description, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{Text: "The conversation was handed over to " + to + ".", Update: state.Update{
			graph.ToParent(Active.Put(to)), graph.ToParent(graph.Goto(to)),
		}}, nil
	})
	return Middleware{Name: "handoff to " + to, Tools: []tools.Tool{tool}, handoffs: []string{name}}
}

// SwarmOptions configures a [Swarm]. The zero value is valid.
type SwarmOptions struct {
	// Messages is the channel of the conversation, which all agents share. Nil means
	// [Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Channels are additional channels that the agents share.
	Channels []state.Handle
	// Graph has the options of the compiled graph.
	Graph graph.Options
}

// Swarm returns a graph of agents that share one conversation. One agent is active until it
// hands over with a tool of [Handoff], even in later runs of the thread. The first agent is
// active at the beginning of a thread, and if the active agent has been removed from the
// swarm. If a swarm is an agent of another swarm, each execution begins with its first agent.
func Swarm(name string, agents []*graph.Graph, o SwarmOptions) (*graph.Graph, error) {
	if len(agents) == 0 {
		return nil, fmt.Errorf("swarm %q: it has no agents; pass at least one", name)
	}
	messages := cmp.Or(o.Messages, Messages)
	b := graph.New(name, append([]state.Handle{messages, Active, Result, Usage}, o.Channels...)...)
	var names []string
	for i, g := range agents {
		switch {
		case g == nil:
			return nil, fmt.Errorf("swarm %q: agent %d is nil; check the error of New", name, i+1)
		case !g.Declares(messages):
			return nil, fmt.Errorf("swarm %q: agent %q has no channel %q; all agents of a swarm share it", name, g.Name(), messages.Name())
		}
		names = append(names, g.Name())
	}
	for _, g := range agents {
		b.SubgraphWith(g.Name(), g, graph.SubgraphOptions{Private: []state.Handle{Active}}) // g can be a swarm
		b.Destinations(g.Name(), names...)
	}
	b.Branch(graph.Start, func(s state.View) (string, error) {
		if active := Active.Get(s); slices.Contains(names, active) {
			return active, nil
		}
		return names[0], nil
	}, names...)
	return b.Compile(o.Graph)
}
