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

// HandoverPrefix begins the names of the tools by which a supervisor hands over:
// transfer_to_ and the name of the agent.
const HandoverPrefix = "transfer_to_"

// A Member is an agent that a supervisor hands over to.
type Member struct {
	// Agent is what runs, usually from [New] or [Supervisor]. Its name is that of
	// its node, and of the tool that hands over to it.
	Agent *graph.Graph
	// Description says to the supervisor's model what to hand over to it.
	Description string
	// Messages is the channel of the agent's conversation, and says what the two
	// know of each other. Nil means that of the supervisor: the agent sees all of
	// it, and all that it says and does becomes a part of it. With a channel of
	// its own, which is then in its Options too, the agent begins with what the
	// user and others said and the task that it is given, and only its last
	// answer comes back, as the result of the handover.
	Messages *state.KeyedChannel[llm.Message]
}

// Supervisor returns an agent whose model hands over to others: by a tool for
// each, which takes the task. The agent then runs as a subgraph; when it has
// ended, the supervisor's model is asked again, until it answers itself. It may
// hand over to several at once, which then run at the same time.
//
// A handover is an ordinary call, so it can be subject to approval. What a
// member asks a person is a question of the supervisor's thread.
func Supervisor(name string, model llm.Model, set *tools.Set, team []Member, o Options) (*graph.Graph, error) {
	if err := o.check(name, model); err != nil {
		return nil, err
	}
	if o.Graph.MaxSteps == 0 {
		o.Graph.MaxSteps = 3*max(o.MaxTurns, defaultMaxTurns) + 1
	}
	o = o.withDefaults()
	desk := state.Map[string, handover]("agent_handovers:" + name)
	handovers, err := handoverTools(name, team, o.Messages, desk)
	if err != nil {
		return nil, err
	}
	all, err := set.Merge(handovers)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	o.Channels = append([]state.Handle{desk}, o.Channels...)
	a, b := newAgent(name, model, all, o)
	a.supervises = true
	b.Defer(ModelNode) // until every member has handed back
	b.AllowEdgesAndBranches(ToolsNode)
	for _, m := range team {
		member := m.Agent
		if m.apart(a.messages) {
			if member, err = a.office(m, desk); err != nil {
				return nil, err
			}
		}
		b.Subgraph(m.Agent.Name(), member)
		b.Destinations(ToolsNode, m.Agent.Name())
		b.Edge(m.Agent.Name(), ModelNode)
	}
	return b.Compile(o.Graph)
}

// apart reports whether the member has a conversation of its own.
func (m Member) apart(messages *state.KeyedChannel[llm.Message]) bool {
	return m.Messages != nil && m.Messages != messages
}

// A handover is what a member is to do, under the id of the call.
type handover struct {
	To   string `json:"to"`
	Task string `json:"task,omitempty"`
}

type handoverInput struct {
	Task string `json:"task,omitempty" jsonschema:"what the agent is to do, with all that it has to know"`
}

// handoverTools returns the tools that hand over.
func handoverTools(name string, team []Member, messages *state.KeyedChannel[llm.Message], desk *state.MapChannel[string, handover]) (*tools.Set, error) {
	if len(team) == 0 {
		return nil, fmt.Errorf("agent %q: the team is empty", name)
	}
	var list []tools.Tool
	for i, m := range team {
		if m.Agent == nil {
			return nil, fmt.Errorf("agent %q: member %d: the agent is nil", name, i+1)
		}
		to := m.Agent.Name()
		if to == name {
			return nil, fmt.Errorf("agent %q: member %d has the name of its supervisor", name, i+1)
		}
		list = append(list, tools.New(HandoverPrefix+to, "Hands over to the agent "+to+". "+m.Description,
			func(ctx context.Context, in handoverInput) (tools.Result, error) {
				r := tools.Result{Text: "Handed over to " + to + ".", Update: state.Update{graph.Goto(to)}}
				if in.Task != "" {
					r.Text += " Its task: " + in.Task
				}
				if c, ok := tools.CallFrom(ctx); ok && m.apart(messages) {
					r.Update = append(r.Update, desk.Put(map[string]handover{c.ID: {To: to, Task: in.Task}}))
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

// The nodes around a member that has a conversation of its own.
const (
	briefNode  = "handover"
	reportNode = "handback"
)

// office returns the graph in which such a member works.
func (a *agent) office(m Member, desk *state.MapChannel[string, handover]) (*graph.Graph, error) {
	name := m.Agent.Name()
	o := &office{agent: a, member: m, desk: desk}
	channels := append([]state.Handle{a.messages, m.Messages, Usage, Result}, a.options.Channels...)
	b := graph.New(name, channels...)
	b.Node(briefNode, o.brief)
	b.Subgraph(name, m.Agent)
	b.Node(reportNode, o.report)
	b.Edge(graph.Start, briefNode)
	b.Edge(briefNode, name)
	b.Edge(name, reportNode)
	b.Edge(reportNode, graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		return nil, fmt.Errorf("agent %q: member %q: %w", a.name, name, err)
	}
	return g, nil
}

type office struct {
	agent  *agent
	member Member
	desk   *state.MapChannel[string, handover]
}

// mine returns the handovers to this member, by the ids of their calls: those
// that it is to do, and those that were given up, as their run was.
func (o *office) mine(s state.View) (due, stale map[string]handover) {
	due, stale = map[string]handover{}, o.desk.Get(s)
	maps.DeleteFunc(stale, func(_ string, h handover) bool { return h.To != o.member.Agent.Name() })
	var last llm.Message
	for _, m := range o.agent.messages.All(s) {
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

// brief tells the member what was said, and its task. What the supervisor did
// with tools is its own matter; what other agents answered is not.
func (o *office) brief(_ context.Context, s state.View) (state.Update, error) {
	due, _ := o.mine(s)
	var said []llm.Message
	var tasks []llm.Message
	for _, m := range o.agent.messages.All(s) {
		h, isMine := due[m.ToolCallID]
		switch {
		case m.Role == llm.RoleTool && isMine:
			if h.Task != "" {
				tasks = append(tasks, llm.Relay(h.Task))
			}
		case m.Role == llm.RoleTool && isAnswer(m):
			said = append(said, llm.Relay(fmt.Sprintf("%s answered:\n\n%s", m.Name[len(HandoverPrefix):], m.Text())))
		case m.Role == llm.RoleUser, m.Role == llm.RoleSystem, m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			said = append(said, m)
		}
	}
	return state.Update{o.member.Messages.Overwrite(append(said, tasks...))}, nil
}

// isAnswer reports whether a message is what a member answered.
func isAnswer(m llm.Message) bool {
	return len(m.Metadata[answeredKey]) > 0
}

// answeredKey marks the result of a handover when the member has ended.
const answeredKey = "handed_back"

// report puts the member's last answer in place of the result of the handover.
func (o *office) report(_ context.Context, s state.View) (state.Update, error) {
	due, stale := o.mine(s)
	answer := o.lastAnswer(s)
	var update state.Update
	for _, m := range o.agent.messages.All(s) {
		if _, ok := due[m.ToolCallID]; ok && m.Role == llm.RoleTool {
			m.Parts, m.Status = answer.Parts, answer.Status
			m.Metadata = map[string]json.RawMessage{answeredKey: json.RawMessage("true")}
			update = append(update, o.agent.messages.Put(m))
		}
	}
	maps.Copy(due, stale)
	return append(update, o.desk.Remove(slices.Collect(maps.Keys(due))...)), nil
}

// lastAnswer is what the member said last, as the result of a call.
func (o *office) lastAnswer(s state.View) llm.Message {
	last, _ := o.member.Messages.Last(s)
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
