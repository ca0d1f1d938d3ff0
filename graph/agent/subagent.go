package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A SubAgent is an agent that another agent calls as a tool; see [AsTool].
type SubAgent struct {
	// Agent is the graph of the sub-agent, usually from [New].
	Agent *graph.Graph
	// Name is the name of the tool and of the node. Empty means the name of the graph.
	Name string
	// Description tells the model which tasks the sub-agent can do.
	Description string
	// Messages is the channel of the sub-agent's conversation. Nil means [Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Private has channels that the two agents do not share although both declare them. The
	// conversation and [Result] are always private. All other channels that both declare are
	// shared, for example [Usage]: the sub-agent begins with the caller's values, and the
	// caller gets the writes.
	Private []state.Handle
	// Prompt, if not nil, returns the first messages of the sub-agent. s is the state of the
	// caller. Nil means that the conversation begins with only the task.
	Prompt func(s state.View, task llm.Message) []llm.Message
}

// AsTool returns a middleware with a tool that gives a task to a sub-agent. The argument of the tool is
// the task. The result is the last reply of the sub-agent, with its structured answer if it has one.
//
// Each call is a separate task that runs the sub-agent as a subgraph. The sub-agents of one reply
// run concurrently, after the other tool calls of the reply: a tool call that waits for an approval
// delays them. The stream of the run has the tokens and tool calls of the sub-agent, with its path.
// Questions of the sub-agent are questions of the thread. A sub-agent that was killed resumes at its
// last checkpoint. If it fails, the error is the result of the call, unless Options.Tools.OnError
// decides otherwise. If the conversation continues before the sub-agent has ended, the result of the
// call is an error that says so.
//
// A call is an ordinary tool call, so it can require approval.
func AsTool(s SubAgent) Middleware {
	name := s.Name
	if name == "" && s.Agent != nil {
		name = s.Agent.Name()
	}
	s.Messages = cmp.Or(s.Messages, Messages)
	return Middleware{Name: name, members: []member{{SubAgent: s, node: name, tool: name}}}
}

// A member is a sub-agent as a node of an agent.
type member struct {
	SubAgent
	node   string
	tool   string
	shared bool // the sub-agent shares the conversation of the caller
}

// check returns an error if the agent named caller cannot have this sub-agent.
func (m *member) check(caller string) error {
	switch {
	case m.Agent == nil:
		return errors.New("its Agent is nil; check the error of New")
	case m.node == caller:
		return errors.New("it has the same name as the agent; give it another name")
	case !m.Agent.Declares(m.Messages):
		return fmt.Errorf("agent %q has no channel %q; its conversation is in another channel: set Messages to that channel", m.Agent.Name(), m.Messages.Name())
	}
	return nil
}

func (a *agent) isMember(tool string) bool {
	return slices.ContainsFunc(a.members, func(m member) bool { return m.tool == tool })
}

type taskInput struct {
	Task string `json:"task" jsonschema:"the task, with all the information that it needs"`
}

type optionalTask struct {
	Task string `json:"task,omitempty" jsonschema:"the task of the agent, with all the information that it needs"`
}

// handover returns the tool that starts the task of a call.
func (m *member) handover(a *agent) tools.Tool {
	start := func(ctx context.Context, task string) (tools.Result, error) {
		c, ok := tools.CallFrom(ctx)
		if !ok {
			return tools.Result{}, fmt.Errorf("sub-agent %q runs as a tool call of its agent only", m.node)
		}
		r := tools.Result{Text: "Handed over to " + m.node + ".", Metadata: map[string]json.RawMessage{openKey: a.mark()}}
		if task != "" {
			r.Text += " Its task: " + task
		}
		writes := []state.Write{call.Put(c)}
		if m.shared && task != "" {
			said := llm.Relay(task)
			said.ID = "task of " + c.ID
			writes = append(writes, a.messages.Put(said))
		}
		r.Update = state.Update{graph.SendOver(m.node, writes...)}
		return r, nil
	}
	if m.shared || m.tool != m.node {
		return tools.New(m.tool, m.Description, func(ctx context.Context, in optionalTask) (tools.Result, error) { return start(ctx, in.Task) })
	}
	return tools.New(m.tool, m.Description, func(ctx context.Context, in taskInput) (tools.Result, error) { return start(ctx, in.Task) })
}

// addMembers adds the nodes of the sub-agents.
func (a *agent) addMembers(b *graph.Builder) error {
	if len(a.members) == 0 {
		return nil
	}
	b.Defer(ModelNode) // wait for every sub-agent
	b.AllowEdgesAndBranches(ToolsNode)
	for _, m := range a.members {
		o := graph.SubgraphOptions{Private: []state.Handle{call, withheld}, Middleware: []graph.Middleware{a.answering(m)}}
		if !m.shared {
			o.Private = slices.Concat(o.Private, []state.Handle{m.Messages, Result}, m.Private)
			o.Input = func(parent state.View) (state.Update, error) {
				task := llm.Relay(taskOf(call.Get(parent)))
				messages := []llm.Message{task}
				if m.Prompt != nil {
					messages = m.Prompt(parent, task)
				}
				return state.Update{m.Messages.Overwrite(messages)}, nil
			}
			o.Output = func(parent, sub state.View) (state.Update, error) {
				return a.answered(parent, m.lastAnswer(sub)), nil
			}
		}
		b.SubgraphWith(m.node, m.Agent, o)
		b.Destinations(ToolsNode, m.node)
		b.Edge(m.node, ModelNode)
	}
	return nil
}

func taskOf(c llm.ToolCall) string {
	var in taskInput
	_ = json.Unmarshal(c.Arguments, &in) // the tool has checked the arguments
	return in.Task
}

// answering returns the graph middleware for the node of a sub-agent. It turns an error of
// the sub-agent into the result of the call, and emits the end of the call.
func (a *agent) answering(m member) graph.Middleware {
	policy := a.options.Tools.OnError
	if policy == nil {
		policy = tools.AnswerErrors
	}
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			c := call.Get(s)
			update, err := next(ctx, s)
			if err != nil {
				if graph.IsPause(err) || errors.Is(err, graph.ErrDrained) || ctx.Err() != nil {
					return nil, err
				}
				text, err := policy(c, err)
				if err != nil {
					return nil, err
				}
				update = a.answered(s, llm.ToolError(c, text))
			}
			if update == nil { // the sub-agent waits for an answer
				return nil, nil
			}
			after, err := state.Apply(s, update...)
			if err != nil {
				return nil, err
			}
			if answer, ok := a.resultOf(after, c); ok {
				if a.isOpen(answer) { // the sub-agent shares the conversation, so its messages are the answer
					answer = answer.Clone()
					delete(answer.Metadata, openKey)
					update = append(slices.Clip(update), a.messages.Put(answer))
				}
				a.options.Tools.Emit(ctx, tools.CallFinished{Call: c, Answer: answer})
			}
			return update, nil
		}
	}
}

// resultOf returns the message that answers a call.
func (a *agent) resultOf(s state.View, c llm.ToolCall) (found llm.Message, ok bool) {
	for _, m := range a.messages.All(s) {
		if m.Role == llm.RoleTool && m.ToolCallID == c.ID {
			found, ok = m, true
		}
	}
	return found, ok
}

// The metadata keys of the results of handovers. answeredKey marks the result of a completed handover, and openKey the
// result of a handover whose sub-agent has not ended.
const (
	answeredKey = "handed_back"
	openKey     = "handed_over"
)

// mark returns the value of openKey: the name of the agent, since several agents may share a conversation.
func (a *agent) mark() json.RawMessage {
	name, _ := json.Marshal(a.name) // a string always encodes
	return name
}

// isOpen reports whether a message is the result of a handover of this agent that has not ended.
func (a *agent) isOpen(m llm.Message) bool {
	var name string
	return json.Unmarshal(m.Metadata[openKey], &name) == nil && name == a.name
}

// unfinished returns an error as the result of each handover that is still open. The model's node waits for every
// sub-agent. If the node runs and a handover is open, an earlier run ended before the sub-agent did.
func (a *agent) unfinished(s state.View) (closed []llm.Message) {
	if len(a.members) == 0 {
		return nil
	}
	for _, m := range a.messages.All(s) {
		if !a.isOpen(m) {
			continue
		}
		m.Parts, m.Status, m.Metadata = []llm.Part{llm.Text(notFinished)}, llm.StatusError, nil
		closed = append(closed, m)
	}
	return closed
}

// notFinished is the result of a handover whose sub-agent was stopped before it answered.
const notFinished = "The task was not finished: the conversation went on without it. A part of it may be done."

// answered replaces the result of the call with the answer of the sub-agent.
func (a *agent) answered(s state.View, answer llm.Message) state.Update {
	c := call.Get(s)
	m, ok := a.resultOf(s, c)
	if !ok { // the conversation was changed in the meantime
		m = llm.ToolResult(c, "")
	}
	m.Parts, m.Status = answer.Parts, answer.Status
	m.Metadata = map[string]json.RawMessage{answeredKey: json.RawMessage("true")}
	return state.Update{a.messages.Put(m)}
}

// lastAnswer returns the last reply of the sub-agent, with its structured answer, as a tool result.
func (m *member) lastAnswer(sub state.View) llm.Message {
	var r Outcome
	if m.Agent.Declares(Result) {
		r = Result.Get(sub)
	}
	last, _ := m.Messages.Last(sub)
	answer := llm.Message{Status: llm.StatusSuccess}
	said := r.Reason.text(r.Turns)
	if last.Role == llm.RoleAssistant && (said == "" || last.Text() != said) {
		answer.Parts = slices.DeleteFunc(slices.Clone(last.Parts), func(p llm.Part) bool { return p.Type == llm.PartReasoning })
	}
	switch text := last.Text(); {
	case len(answer.Parts) == 0 && len(r.Answer) == 0:
		answer.Status, answer.Parts = llm.StatusError, []llm.Part{llm.Text(strings.TrimSpace(fmt.Sprintf("The agent did not answer: %s %s", r.Reason, r.Problem)))}
	case r.Reason == Unfit:
		answer.Status, answer.Parts = llm.StatusError, append(answer.Parts, llm.Text("\n\nThe agent did not give its structured answer: "+r.Problem))
	case !strings.HasSuffix(text, string(r.Answer)): // the model was asked for the answer after its reply
		answer.Parts = append(answer.Parts, llm.Text("\n\n"+string(r.Answer)))
	}
	return answer
}
