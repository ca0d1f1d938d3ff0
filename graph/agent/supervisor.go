package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// HandoverPrefix is the prefix in the names of a supervisor's handover tools. The name
// of the agent follows the prefix.
const HandoverPrefix = "transfer_to_"

// A Member is an agent to which a supervisor hands over tasks.
type Member struct {
	// Agent is the graph of the member, usually from [New] or [Supervisor]. Its node has
	// the name of the graph, and its handover tool is HandoverPrefix and this name.
	Agent *graph.Graph
	// Description tells the supervisor's model which tasks the agent can do.
	Description string
	// Messages is the channel of the agent's conversation. Nil means the channel of
	// the supervisor: the agent sees the whole conversation, and its messages are added
	// to it. To give the agent its own conversation, set the same channel here and in
	// the agent's Options. The agent then starts with the user's messages, the answers
	// of other agents and its task. The supervisor gets only the agent's last answer,
	// as the result of the handover.
	Messages *state.KeyedChannel[llm.Message]
}

// Supervisor returns an agent whose model hands over tasks to other agents. The model
// calls the handover tool of a member with the task as the argument. The member runs
// as a subgraph. Then the supervisor's model is asked again, until it answers without
// a tool call. Several handovers in one reply run concurrently.
//
// A handover is an ordinary tool call, so it can require approval. The questions of a
// member are open questions of the supervisor's thread.
func Supervisor(name string, model llm.Model, set *tools.Set, team []Member, o Options) (*graph.Graph, error) {
	if err := o.check(name, model); err != nil {
		return nil, err
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 3*max(o.MaxTurns, defaultMaxTurns) + 1
	}
	o = o.withDefaults()
	handovers := state.Map[string, handover]("agent_handovers:" + name)
	transfers, err := handoverTools(name, team, o.Messages, handovers)
	if err != nil {
		return nil, err
	}
	all, err := set.Merge(transfers)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	o.Channels = append([]state.Handle{handovers}, o.Channels...)
	a, b, err := newAgent(name, model, all, o)
	if err != nil {
		return nil, err
	}
	a.supervises = true
	b.Defer(ModelNode) // wait for every member
	b.AllowEdgesAndBranches(ToolsNode)
	for _, m := range team {
		member := m.Agent
		if m.hasOwnMessages(a.messages) {
			if member, err = a.memberGraph(m, handovers); err != nil {
				return nil, err
			}
		}
		b.Subgraph(m.Agent.Name(), member)
		b.Destinations(ToolsNode, m.Agent.Name())
		b.Edge(m.Agent.Name(), ModelNode)
	}
	return b.Compile(o.Graph)
}

// hasOwnMessages reports whether the member has its own conversation channel.
func (m Member) hasOwnMessages(messages *state.KeyedChannel[llm.Message]) bool {
	return m.Messages != nil && m.Messages != messages
}

// A handover is a task for a member. Its channel maps ids of tool calls to handovers.
type handover struct {
	To   string `json:"to"`
	Task string `json:"task,omitempty"`
}

type handoverInput struct {
	Task string `json:"task,omitempty" jsonschema:"the task of the agent, with all the information that it needs"`
}

// handoverTools returns one handover tool per member.
func handoverTools(name string, team []Member, messages *state.KeyedChannel[llm.Message], handovers *state.MapChannel[string, handover]) (*tools.Set, error) {
	if len(team) == 0 {
		return nil, fmt.Errorf("agent %q: the team is empty; pass at least one member", name)
	}
	var list []tools.Tool
	for i, m := range team {
		if m.Agent == nil {
			return nil, fmt.Errorf("agent %q: member %d: Agent is nil; create it with New or Supervisor", name, i+1)
		}
		to := m.Agent.Name()
		if to == name {
			return nil, fmt.Errorf("agent %q: member %d has the same name; give the member another name", name, i+1)
		}
		list = append(list, tools.New(HandoverPrefix+to, "Hands over to the agent "+to+". "+m.Description,
			func(ctx context.Context, in handoverInput) (tools.Result, error) {
				r := tools.Result{Text: "Handed over to " + to + ".", Update: state.Update{graph.Goto(to)}}
				if in.Task != "" {
					r.Text += " Its task: " + in.Task
				}
				if c, ok := tools.CallFrom(ctx); ok && m.hasOwnMessages(messages) {
					r.Update = append(r.Update, handovers.Put(map[string]handover{c.ID: {To: to, Task: in.Task}}))
				}
				return r, nil
			}))
	}
	set, err := tools.NewSet(list...)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return set, nil
}

// The nodes around a member that has its own conversation channel.
const (
	enterNode = "handover"
	exitNode  = "handback"
)

// memberGraph wraps a member that has its own conversation channel. The enter node
// copies messages into that channel, and the exit node stores the answer.
func (a *agent) memberGraph(m Member, handovers *state.MapChannel[string, handover]) (*graph.Graph, error) {
	name := m.Agent.Name()
	ad := &memberAdapter{agent: a, member: m, handovers: handovers}
	channels := append([]state.Handle{a.messages, m.Messages, Usage, Result}, a.options.Channels...)
	b := graph.New(name, channels...)
	b.Node(enterNode, ad.enter)
	b.Subgraph(name, m.Agent)
	b.Node(exitNode, ad.exit)
	b.Edge(graph.Start, enterNode)
	b.Edge(enterNode, name)
	b.Edge(name, exitNode)
	b.Edge(exitNode, graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		return nil, fmt.Errorf("agent %q: member %q: %w", a.name, name, err)
	}
	return g, nil
}

// A memberAdapter implements the nodes before and after a member.
type memberAdapter struct {
	agent     *agent
	member    Member
	handovers *state.MapChannel[string, handover]
}

// assigned returns the handovers to this member by call id. The handovers in due belong
// to the current run, and the handovers in stale to abandoned runs.
func (ad *memberAdapter) assigned(s state.View) (due, stale map[string]handover) {
	due, stale = map[string]handover{}, ad.handovers.Get(s)
	maps.DeleteFunc(stale, func(_ string, h handover) bool { return h.To != ad.member.Agent.Name() })
	var last llm.Message
	for _, m := range ad.agent.messages.All(s) {
		if len(m.ToolCalls) > 0 {
			last = m
		}
	}
	for _, c := range last.ToolCalls {
		if h, ok := stale[c.ID]; ok {
			due[c.ID] = h
			delete(stale, c.ID)
		}
	}
	return due, stale
}

// enter writes the member's conversation: the user's messages, the answers of other
// members and the task. It leaves out the supervisor's other tool calls.
func (ad *memberAdapter) enter(_ context.Context, s state.View) (state.Update, error) {
	due, _ := ad.assigned(s)
	var said []llm.Message
	var tasks []llm.Message
	for _, m := range ad.agent.messages.All(s) {
		h, isAssigned := due[m.ToolCallID]
		switch {
		case m.Role == llm.RoleTool && isAssigned:
			if h.Task != "" {
				tasks = append(tasks, llm.Relay(h.Task))
			}
		case m.Role == llm.RoleTool && isAnswer(m):
			said = append(said, llm.Relay(fmt.Sprintf("%s answered:\n\n%s", m.Name[len(HandoverPrefix):], m.Text())))
		case m.Role == llm.RoleUser, m.Role == llm.RoleSystem, m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			said = append(said, m)
		}
	}
	return state.Update{ad.member.Messages.Overwrite(append(said, tasks...))}, nil
}

// isAnswer reports whether a tool result is a member's answer.
func isAnswer(m llm.Message) bool {
	return len(m.Metadata[answeredKey]) > 0
}

// answeredKey is the metadata key that marks the result of a completed handover.
const answeredKey = "handed_back"

// exit replaces the result of the handover call with the member's last answer, and
// removes the handovers of the member.
func (ad *memberAdapter) exit(_ context.Context, s state.View) (state.Update, error) {
	due, stale := ad.assigned(s)
	answer := ad.lastAnswer(s)
	var update state.Update
	for _, m := range ad.agent.messages.All(s) {
		if _, ok := due[m.ToolCallID]; ok && m.Role == llm.RoleTool {
			m.Parts, m.Status = answer.Parts, answer.Status
			m.Metadata = map[string]json.RawMessage{answeredKey: json.RawMessage("true")}
			update = append(update, ad.agent.messages.Put(m))
		}
	}
	maps.Copy(due, stale)
	return append(update, ad.handovers.Remove(slices.Collect(maps.Keys(due))...)), nil
}

// lastAnswer returns the member's last reply as a tool result.
func (ad *memberAdapter) lastAnswer(s state.View) llm.Message {
	last, _ := ad.member.Messages.Last(s)
	answer := llm.Message{Status: llm.StatusSuccess}
	if last.Role == llm.RoleAssistant {
		answer.Parts = slices.DeleteFunc(last.Parts, func(p llm.Part) bool { return p.Type == llm.PartReasoning })
	}
	if len(answer.Parts) == 0 {
		r := Result.Get(s)
		answer.Status = llm.StatusError
		answer.Parts = []llm.Part{llm.Text(fmt.Sprintf("The agent did not answer: %s %s", r.Reason, r.Problem))}
	}
	return answer
}
