package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A Middleware changes how an agent works. Every field is optional. Concurrent runs call
// its functions concurrently.
//
// Options.Use lists the middleware of an agent. The Before functions run in the order of the
// list, and the After functions in reverse order. For the Wrap functions, the first middleware
// is the outermost.
//
// A function may return writes. They are stored with the step, and the functions that follow see
// them. The writes may not contain graph.Goto and graph.Send. To end the run or continue at
// another node, a function returns [Stop] or [Jump] as its error, with or without writes. Any
// other error fails the run.
//
// A function may ask a person with a [graph.Interrupt]. After the answer, all functions of the
// step run again, but the model is not asked again.
type Middleware struct {
	// Name names the middleware in errors.
	Name string
	// System is a part of the system prompt. It follows Options.System, after an empty line.
	System string
	// Prompt returns a part of the system prompt for each model call. It follows System.
	Prompt func(ctx context.Context, r Run) (string, error)
	// Tools are additional tools of the agent.
	Tools []tools.Tool
	// Approve selects tool calls that a person must approve, in addition to
	// Options.Tools.Approval.Rule.
	Approve tools.Rule
	// Channels are additional channels of the agent.
	Channels []state.Handle
	// ToolNames are names of tools on which the functions depend. If the agent has no such
	// tool, New returns a [tools.ErrPattern].
	ToolNames []string
	// Err is a mistake in the options of the middleware, or nil. New returns Err, so that the mistake
	// is found before the first run.
	Err error

	// BeforeAgent runs once at the start of a run, in a step of its own.
	BeforeAgent func(ctx context.Context, r Run) (state.Update, error)
	// BeforeModel runs before each model call.
	BeforeModel func(ctx context.Context, r Run) (state.Update, error)
	// WrapModel runs around each model call. It may change the call, call next several
	// times, one call after the other, or return a reply without calling next.
	WrapModel func(ctx context.Context, c ModelCall, next ModelFunc) (Reply, error)
	// AfterModel runs after each model call, before the reply is stored and before its tool
	// calls run. It may change the reply. Text that it removes was already streamed.
	AfterModel func(ctx context.Context, r Run, reply *llm.Message) (state.Update, error)
	// WrapTool runs around each tool call, including its approval by a person. It also runs for a
	// call of an unknown tool. It may change the call, call next several times, or return an
	// outcome without calling next. It does not run for a tool that was not in the request. For a
	// sub-agent, next hands over the task and does not wait for the answer. If WrapTool asks a person
	// after it has called next, the tool runs again after the person's answer, so put the effects of
	// the tool into [graph.Once].
	WrapTool func(ctx context.Context, c ToolCall, next ToolFunc) (tools.Outcome, error)
	// AfterAgent runs once at the end of a run, in a step of its own. It also runs if the
	// run was stopped, and does not run if the run failed.
	AfterAgent func(ctx context.Context, r Run) (state.Update, error)

	members  []member // sub-agents
	handoffs []string // names of tools that hand over the conversation
}

// A Run describes the current run of an agent to a function of a [Middleware].
type Run struct {
	// Agent is the name of the agent.
	Agent string
	// State includes the writes of the functions that have run in this step.
	State state.View
	// Messages is the channel of the conversation.
	Messages *state.KeyedChannel[llm.Message]
	// Turn is the number of the model call in the run, from 1. It is 0 in BeforeAgent.
	Turn int
	// Usage is the usage of the run so far.
	Usage llm.Usage
}

// A ModelCall is a call of the model. The functions of a [Middleware] get a copy, but its
// slices are shared: replace them, and do not change their elements.
type ModelCall struct {
	Run
	// Model is the model that is asked. It may be nil if Options.Use sets it.
	Model llm.Model
	// System is the system prompt. It precedes Request.Messages.
	System string
	// Request is the request. Its messages are the conversation. Its tools are the tools of the
	// agent. A function can remove tools, but cannot add tools that the agent does not have. A
	// call of a removed tool is answered with an error.
	Request llm.Request
	// Last reports that this is the last turn, in which the model may not call tools.
	Last bool

	wraps []func(llm.Model) llm.Model
}

// Wrap returns the call with a wrapper around its model, such as [llm.Retry]. The wrapper of the
// first middleware of Options.Use is the outermost. Wrappers also apply if a later middleware
// sets another model.
func (c ModelCall) Wrap(wrap func(llm.Model) llm.Model) ModelCall {
	c.wraps = append(slices.Clip(c.wraps), wrap)
	return c
}

// wrapped returns the model with its wrappers.
func (c ModelCall) wrapped() llm.Model {
	m := c.Model
	for _, wrap := range slices.Backward(c.wraps) {
		m = wrap(m)
	}
	return m
}

// A ModelFunc makes a model call.
type ModelFunc func(ctx context.Context, c ModelCall) (Reply, error)

// A Reply is the result of a model call.
type Reply struct {
	// Message is the reply of the model. A structured answer is a call of the tool "answer".
	Message llm.Message
	// Update has writes that are stored with the reply.
	Update state.Update
}

// A ToolCall is a call of a tool. Run.Turn is the turn of the reply with the call.
type ToolCall struct {
	Run
	// Call is the call that the model asked for.
	Call llm.ToolCall
}

// A ToolFunc makes a tool call. The outcome of a tool that failed is an answer with
// [llm.StatusError], unless Options.Tools.OnError decides otherwise.
type ToolFunc func(ctx context.Context, c ToolCall) (tools.Outcome, error)

// Stop returns an error that a function of a [Middleware] returns to end the run. The message is
// added to the conversation, unless it is the zero message. Tool calls that did not run get an
// error as their result. The [Outcome] has the reason [Stopped].
//
// After a Stop in BeforeModel or WrapModel, the model is not asked. If WrapModel already has a
// reply, the reply is not stored. After a Stop in AfterModel, the reply is stored. After a Stop in
// WrapTool, the other tool calls of the reply still run. The result of the stopped call is the
// outcome that WrapTool returns with the Stop, or else the outcome of the tool, if the tool has run.
// A sub-agent to which next handed over does not start. AfterAgent cannot stop a run.
func Stop(message llm.Message) error { return &control{message: message} }

// Jump returns an error that a function of a [Middleware] returns to continue the run at a node:
// [ModelNode] asks the model again, and [ToolsNode] runs the calls of the last reply that have
// no result. The remaining functions of the same kind do not run.
//
// A jump to the model after a reply with tool calls answers the calls with an error. It begins a
// new turn, so in the last turn it ends the run. A jump to the tools is possible before the
// model is asked, and from AfterModel. WrapTool cannot jump.
func Jump(node string) error { return &control{to: node} }

// A control is the error of Stop or Jump.
type control struct {
	to      string // a node; empty for Stop
	message llm.Message
}

func (c *control) Error() string {
	if c.to == "" {
		return "agent: the run was stopped here, which has no effect: AfterAgent and tools cannot stop a run"
	}
	return fmt.Sprintf("agent: a jump to %q from here is not possible: the nodes are agent.ModelNode and agent.ToolsNode; WrapTool cannot jump, and AfterAgent can jump to the model only", c.to)
}

// controlOf returns the Stop or Jump in err, or nil.
func controlOf(err error) *control {
	c, _ := errors.AsType[*control](err)
	return c
}

// A hook is a Before or After function of a middleware.
type hook struct {
	label string
	call  func(ctx context.Context, r Run, reply *llm.Message) (state.Update, error)
}

// apply runs hooks. It returns their writes, and the Stop or Jump that a hook returned.
// AfterModel functions get the reply.
func (r *Run) apply(ctx context.Context, hooks []hook, reply *llm.Message) (all state.Update, c *control, err error) {
	for _, h := range hooks {
		update, err := h.call(ctx, *r, reply)
		if c = controlOf(err); err != nil && c == nil {
			return nil, nil, fmt.Errorf("%s: %w", h.label, err)
		}
		if err := r.add(update); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", h.label, err)
		}
		if all = append(all, update...); c != nil {
			return all, c, nil
		}
	}
	return all, nil, nil
}

// add applies writes of a middleware to the state that the next functions see.
func (r *Run) add(update state.Update) (err error) {
	if len(update) == 0 {
		return nil
	}
	for _, w := range update {
		if s := w.Signal(); s != nil && !strings.HasPrefix(s.Signal(), "to parent: ") {
			return fmt.Errorf("%s: %w; a middleware returns agent.Stop or agent.Jump instead", s.Signal(), graph.ErrSignal)
		}
	}
	if r.State, err = state.Apply(r.State, update...); errors.Is(err, state.ErrUnknownChannel) {
		err = fmt.Errorf("%w; add it to Middleware.Channels", err)
	}
	return err
}

// A hookFunc is a Before or After function that gets no reply.
type hookFunc = func(context.Context, Run) (state.Update, error)

// addHooks adds the Before and After functions of the middleware to the agent, in the order in
// which they run.
func (a *agent) addHooks() {
	add := func(list *[]hook, i int, kind string, call hookFunc) {
		if call != nil {
			*list = append(*list, hook{a.options.Use[i].label(i) + kind, func(ctx context.Context, r Run, _ *llm.Message) (state.Update, error) { return call(ctx, r) }})
		}
	}
	for i, m := range a.options.Use {
		add(&a.beforeAgent, i, ": before the agent", m.BeforeAgent)
		add(&a.beforeModel, i, ": before the model", m.BeforeModel)
		add(&a.afterAgent, i, ": after the agent", m.AfterAgent)
		if m.AfterModel != nil {
			a.afterModel = append(a.afterModel, hook{m.label(i) + ": after the model", m.AfterModel})
		}
	}
	slices.Reverse(a.afterAgent)
	slices.Reverse(a.afterModel)
}

// label returns the name of the middleware with index i, for errors.
func (m Middleware) label(i int) string {
	if m.Name == "" {
		return fmt.Sprintf("middleware %d", i+1)
	}
	return fmt.Sprintf("middleware %q", m.Name)
}
