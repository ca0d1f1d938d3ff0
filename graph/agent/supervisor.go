package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// HandoverPrefix begins the name of a handover tool. The name of the agent follows.
const HandoverPrefix = "transfer_to_"

// A Member is an agent to which a supervisor hands over tasks.
type Member struct {
	// Agent is the graph of the member, usually from [New] or [Supervisor]. The name of
	// the graph is the name of the member's node. The handover tool has HandoverPrefix
	// before this name.
	Agent *graph.Graph
	// Description tells the supervisor's model which tasks the agent can do.
	Description string
	// Messages is the channel of the agent's conversation. Nil means the channel of the
	// supervisor: the agent sees the whole conversation and its task, and its messages are
	// added to the conversation. To give the agent its own conversation, set the channel
	// here and in the agent's Options. Its conversation then begins with the user's
	// messages, the answers of other agents and its task. The supervisor gets only the
	// agent's last answer, as the result of the handover.
	Messages *state.KeyedChannel[llm.Message]
}

// Supervisor returns an agent whose model hands over tasks to other agents. The model
// calls the handover tool of a member with the task as the argument. The member runs as a
// subgraph. Then the supervisor's model is asked again, until it answers without a tool
// call. Several handovers in one reply run concurrently, even to the same member, and each
// has its own task and answer. In all other respects, a member is like a sub-agent of
// [AsTool].
func Supervisor(name string, model llm.Model, set *tools.Set, team []Member, o Options) (*graph.Graph, error) {
	if len(team) == 0 {
		return nil, fmt.Errorf("agent %q: the team is empty; pass at least one member", name)
	}
	messages := cmp.Or(o.Messages, Messages)
	var members []Middleware
	for i, t := range team {
		m := member{SubAgent: SubAgent{Agent: t.Agent, Description: t.Description, Messages: cmp.Or(t.Messages, messages)}}
		m.shared = m.Messages == messages
		if t.Agent != nil {
			m.node, m.tool = t.Agent.Name(), HandoverPrefix+t.Agent.Name()
			m.Description = "Hands over to the agent " + m.node + ". " + t.Description
		}
		if err := m.check(name); err != nil {
			return nil, fmt.Errorf("agent %q: member %d: %w", name, i+1, err)
		}
		m.Prompt = func(s state.View, task llm.Message) []llm.Message { return briefing(messages, s, task) }
		members = append(members, Middleware{Name: "member " + m.node, members: []member{m}})
	}
	o.Use = append(members, slices.Clip(o.Use)...)
	return New(name, model, set, o)
}

// briefing returns the first messages of a member: the user's messages, the answers of
// other members and the task. It leaves out the supervisor's other tool calls.
func briefing(messages *state.KeyedChannel[llm.Message], s state.View, task llm.Message) (said []llm.Message) {
	for _, m := range messages.All(s) {
		switch {
		case m.Role == llm.RoleTool && len(m.Metadata[answeredKey]) > 0:
			said = append(said, llm.Relay(fmt.Sprintf("%s answered:\n\n%s", m.Name[min(len(HandoverPrefix), len(m.Name)):], m.Text())))
		case m.Role == llm.RoleUser, m.Role == llm.RoleSystem, m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			said = append(said, m)
		}
	}
	if task.Text() != "" {
		said = append(said, task)
	}
	return said
}
