package agent

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Messages is the conversation channel of an agent without Options.Messages. A graph
// that declares the channel shares it with its agents.
var Messages = state.Keyed("messages", llm.ByID)

// Approval is the interrupt that asks a person before a tool runs. It is used for the
// calls that [tools.Approval] selects. Several questions may be open at once. Any
// process can answer a question by its id:
//
//	open, err := agent.Approval.Open(snap)
//	snap, err = thread.Invoke(ctx, agent.Approval.Answer(open[0].ID, open[0].Prompt.Approve()))
//
// The result of a rejected call tells the model the reason.
var Approval = graph.NewInterrupt[tools.Question, tools.Decision]("agent_approval")

// The channels of tasks that run a tool call or a sub-agent.
var (
	call     = state.Last[llm.ToolCall]("tool_call").Internal()
	withheld = state.Last[bool]("tool_withheld").Internal() // set in tasks that an older version stored; the call is refused
)

// The nodes of an agent. A sub-agent is a node of its own; see [SubAgent].
const (
	ModelNode  = "agent"  // asks the model
	ToolsNode  = "tools"  // runs one tool call per task
	AnswerNode = "answer" // asks for the structured answer; exists only with Options.Answer
	BeforeNode = "before" // runs BeforeAgent; exists only if a middleware has it
	AfterNode  = "after"  // runs AfterAgent; exists only if a middleware has it
)

// New returns an agent. A nil set means no tools. The model may be nil if a middleware
// always sets one.
//
// If a pattern of [tools.Named] in Options.Tools matches no tool of the agent, the error is a
// [tools.ErrPattern].
//
// Input is checked before it is stored. A run with an invalid message fails with
// [llm.ErrInvalid], and the thread does not change.
func New(name string, model llm.Model, set *tools.Set, o Options) (*graph.Graph, error) {
	if err := o.check(name, model); err != nil {
		return nil, err
	}
	a := &agent{name: name, model: model, options: o.withDefaults(), run: state.LastWins[progress]("agent_run:" + name).Internal()}
	a.messages = a.options.Messages
	if err := a.use(set); err != nil {
		return nil, err
	}
	if err := a.options.Tools.Check(a.tools); err != nil {
		return nil, fmt.Errorf("agent %q: Options.Tools: %w", name, err)
	}
	answers, err := o.Answer.form(a.tools)
	if err != nil {
		return nil, fmt.Errorf("agent %q: Options.Answer: %w", name, err)
	}
	a.answers = answers
	b := a.builder()
	if err := a.addMembers(b); err != nil {
		return nil, err
	}
	return b.Compile(a.graphOptions())
}

type agent struct {
	name     string
	model    llm.Model
	tools    *tools.Set
	options  Options
	answers  *answerForm // nil if the agent has no structured answer
	messages *state.KeyedChannel[llm.Message]
	run      *state.Channel[progress, progress]
	stop     *state.Channel[*llm.Message, *llm.Message] // the message of a Stop around a tool call; nil if there is no WrapTool
	members  []member
	handoffs []string
	mayAsk   bool // a middleware may ask a person after the model has replied

	beforeAgent, beforeModel, afterModel, afterAgent []hook
}

// use adds the tools, sub-agents and functions of the middleware to the agent.
func (a *agent) use(set *tools.Set) error {
	list := a.options.Use
	var added []tools.Tool
	for i, m := range list {
		if m.Err != nil {
			return fmt.Errorf("agent %q: %s: %w", a.name, m.label(i), m.Err)
		}
		added = append(added, m.Tools...)
		a.options.Tools.Approval.Rule = a.options.Tools.Approval.Rule.Or(m.Approve)
		if slices.Contains(m.handoffs, HandoverPrefix) {
			return fmt.Errorf("agent %q: %s: the name of the agent is empty; pass it to Handoff", a.name, m.label(i))
		}
		a.handoffs = append(a.handoffs, m.handoffs...)
		for _, sub := range m.members {
			if err := sub.check(a.name); err != nil {
				return fmt.Errorf("agent %q: %s: %w", a.name, m.label(i), err)
			}
			a.members = append(a.members, sub)
			added = append(added, sub.handover(a))
		}
		a.mayAsk = a.mayAsk || m.WrapModel != nil || m.AfterModel != nil
		if m.WrapTool != nil {
			a.stop = state.LastWins[*llm.Message]("agent_stop:" + a.name).Internal()
		}
	}
	a.addHooks()
	more, err := tools.NewSet(added...)
	if err == nil {
		a.tools, err = set.Merge(more)
	}
	if err != nil {
		return fmt.Errorf("agent %q: %w", a.name, err)
	}
	for i, m := range list {
		if err := tools.Named(m.ToolNames...).Check(a.tools); err != nil {
			return fmt.Errorf("agent %q: %s: %w", a.name, m.label(i), err)
		}
	}
	return nil
}

// builder returns the graph of the agent without its sub-agents.
func (a *agent) builder() *graph.Builder {
	channels := []state.Handle{a.messages, call, withheld, a.run, Result, Usage}
	if a.stop != nil {
		channels = append(channels, a.stop)
	}
	more := slices.Clone(a.options.Channels)
	for _, m := range a.options.Use {
		more = append(more, m.Channels...)
	}
	for _, c := range more {
		if !slices.Contains(channels, c) {
			channels = append(channels, c)
		}
	}
	b := graph.New(a.name, channels...)
	next := []string{ModelNode, ToolsNode, graph.End}
	b.Node(ModelNode, a.think)
	b.Node(ToolsNode, a.callNode())
	if a.answers != nil {
		next = append(next, AnswerNode)
		b.Node(AnswerNode, a.answer)
	}
	if len(a.afterAgent) > 0 {
		next = append(next, AfterNode)
		b.Node(AfterNode, a.after)
		b.BranchMany(AfterNode, a.next, ModelNode, graph.End)
	}
	first := ModelNode
	if len(a.beforeAgent) > 0 {
		first = BeforeNode
		b.Node(BeforeNode, a.begin)
		b.BranchMany(BeforeNode, a.next, next...)
	}
	b.BranchMany(graph.Start, a.checkMessages, first)
	b.BranchMany(ModelNode, a.next, next...)
	if a.answers != nil {
		b.BranchMany(AnswerNode, a.next, slices.DeleteFunc(slices.Clone(next), func(to string) bool { return to == AnswerNode })...)
	}
	b.Edge(ToolsNode, ModelNode)
	return b
}

// graphOptions returns the options of the graph. The default of MaxSteps is high enough for
// MaxTurns.
func (a *agent) graphOptions() graph.Options {
	o := a.options.Graph
	if o.MaxSteps == 0 {
		perTurn := 2
		if len(a.members) > 0 {
			perTurn++
		}
		if len(a.afterAgent) > 0 {
			perTurn++
		}
		o.MaxSteps = perTurn*a.options.MaxTurns + 3
	}
	return o
}
