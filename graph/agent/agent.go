package agent

import (
	"context"
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

// The channels of a tools task: the call, and whether the request to the model
// withheld the tool.
var (
	call     = state.Last[llm.ToolCall]("tool_call")
	withheld = state.Last[bool]("tool_withheld")
)

// The nodes of an agent.
const (
	ModelNode  = "agent"  // asks the model
	ToolsNode  = "tools"  // runs one tool call per task
	AnswerNode = "answer" // asks for the structured answer; exists only with Options.Answer
)

// New returns an agent. A nil set means no tools. The model may be nil if Options.Model
// always returns one.
//
// Input is checked before it is stored. A run with an invalid message fails with
// [llm.ErrInvalid], and the thread does not change.
func New(name string, model llm.Model, set *tools.Set, o Options) (*graph.Graph, error) {
	if err := o.check(name, model); err != nil {
		return nil, err
	}
	a, b, err := newAgent(name, model, set, o.withDefaults())
	if err != nil {
		return nil, err
	}
	return b.Compile(a.options.Graph)
}

type agent struct {
	name       string
	model      llm.Model
	tools      *tools.Set
	options    Options
	answers    *answerForm // of structured answers; nil if there are none
	messages   *state.KeyedChannel[llm.Message]
	run        *state.Channel[run, run]
	summary    *state.Channel[summary, summary]
	supervises bool
}

func newAgent(name string, model llm.Model, set *tools.Set, o Options) (*agent, *graph.Builder, error) {
	answers, err := o.Answer.form(set)
	if err != nil {
		return nil, nil, fmt.Errorf("agent %q: Options.Answer: %w", name, err)
	}
	a := &agent{
		name: name, model: model, tools: set, options: o, answers: answers, messages: o.Messages,
		run:     state.LastWins[run]("agent_run:" + name),
		summary: state.LastWins[summary]("agent_summary:" + name),
	}
	channels := []state.Handle{a.messages, call, withheld, a.run, Result, Usage}
	if o.History != nil && o.History.Summarise != nil {
		channels = append(channels, a.summary)
	}
	for _, c := range o.Channels {
		if !slices.Contains(channels, c) {
			channels = append(channels, c)
		}
	}
	b := graph.New(name, channels...)
	b.Node(ModelNode, a.think)
	b.Node(ToolsNode, a.callNode())
	b.BranchMany(graph.Start, a.checkMessages, ModelNode)
	b.Edge(ToolsNode, ModelNode)
	if answers == nil {
		b.BranchMany(ModelNode, a.next, ToolsNode, graph.End)
		return a, b, nil
	}
	b.Node(AnswerNode, a.answer)
	b.BranchMany(ModelNode, a.next, ToolsNode, AnswerNode, graph.End)
	b.Edge(AnswerNode, graph.End)
	return a, b, nil
}

// checkMessages is the branch after Start. It runs before the input is stored, so
// an error leaves the thread unchanged.
func (a *agent) checkMessages(s state.View) (state.Update, error) {
	for i, m := range a.messages.All(s) {
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("agent %q: message %d of the conversation: %w; create messages with llm.System, llm.User, llm.Assistant or llm.ToolResult", a.name, i+1, err)
		}
	}
	return state.Update{graph.Goto(ModelNode)}, nil
}

// next is the branch after the model. It starts one task per tool call of the
// last message.
func (a *agent) next(s state.View) (state.Update, error) {
	last, _ := a.messages.Last(s)
	if len(last.ToolCalls) == 0 {
		if a.run.Get(s).Reason != Running {
			return state.Update{graph.Goto(AnswerNode)}, nil
		}
		return nil, nil
	}
	var passed state.Update
	if a.options.Pass != nil {
		passed = a.options.Pass(s)
	}
	var out state.Update
	for _, c := range last.ToolCalls {
		sent := append(slices.Clip(passed), call.Put(c))
		if slices.Contains(a.run.Get(s).Withheld, c.ID) {
			sent = append(sent, withheld.Put(true))
		}
		out = append(out, graph.Send(ToolsNode, sent...))
	}
	return out, nil
}

// callNode runs one tool call. A call of a withheld tool, and a structured answer that is
// not accepted, get an error result.
func (a *agent) callNode() graph.NodeFunc {
	run := tools.CallNode(a.tools, call, a.messages, a.options.Tools)
	return func(ctx context.Context, s state.View) (state.Update, error) {
		c := call.Get(s)
		var answer llm.Message
		switch {
		case withheld.Get(s):
			answer = llm.ToolError(c, fmt.Sprintf("tool %q is not available in this turn", c.Name))
		case a.isAnswer(c):
			answer = a.rejectAnswer(c)
		default:
			return run(ctx, s)
		}
		a.options.Tools.Emit(ctx, tools.CallFinished{Call: c, Answer: answer})
		return state.Update{a.messages.Put(answer)}, nil
	}
}
