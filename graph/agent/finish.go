package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// begin is the node that runs the BeforeAgent functions. It exists only if a middleware has
// one.
func (a *agent) begin(ctx context.Context, s state.View) (state.Update, error) {
	t := a.newTurn(s)
	t.progress, t.at.Turn, t.at.Usage = progress{}, 0, llm.Usage{}
	before, c, err := t.at.apply(ctx, a.beforeAgent, nil)
	if err != nil {
		return nil, err
	}
	t.update = append(t.update, before...)
	t.Next = ModelNode
	switch {
	case c == nil:
	case c.to == "":
		return a.stopped(ctx, t, c.message)
	case c.to == ModelNode, c.to == ToolsNode:
		t.Next = c.to
	default:
		return nil, c
	}
	return append(t.update, a.run.Put(t.progress)), nil
}

// stopped ends the run after a middleware returned [Stop]. It answers open tool calls with an
// error, and stores the message.
func (a *agent) stopped(ctx context.Context, t *turn, message llm.Message) (state.Update, error) {
	if err := checkStop(message); err != nil {
		return nil, err
	}
	s, err := state.Apply(t.start, t.update...)
	if err != nil {
		return nil, err
	}
	var stored []llm.Message
	for _, c := range tools.Pending(a.messages.Get(s)) {
		stored = append(stored, llm.ToolError(c, "The tool was not called: the run was stopped."))
	}
	if message.Role != "" {
		stored = append(stored, say(ctx, message))
	}
	if len(stored) > 0 {
		t.update = append(t.update, a.messages.Put(stored...))
	}
	return a.finish(ctx, t, Stopped, cmp.Or(message.Text(), "a middleware stopped the run")), nil
}

// say emits a message that no model wrote as the chunks of a reply, so that readers of the stream get the message. It
// returns the message with its id. A message that cannot be a reply is not emitted.
func say(ctx context.Context, message llm.Message) llm.Message {
	if message.ID == "" {
		message.ID = uuid.New()
	}
	for chunk, err := range llm.Reply(message) {
		if err == nil {
			graph.Emit(ctx, chunk)
		}
	}
	return message
}

// checkStop returns an error if the message of a Stop is not valid in a conversation.
func checkStop(message llm.Message) error {
	if message.Role == "" {
		return nil
	}
	if err := message.Validate(); err != nil {
		return fmt.Errorf("agent: the message of Stop: %w: %w; create it with llm.Assistant", err, llm.ErrInvalid)
	}
	return nil
}

// finish ends the run, or schedules the structured answer or the AfterAgent functions if they
// must run first.
func (a *agent) finish(ctx context.Context, t *turn, reason Reason, problem string) state.Update {
	asks := a.answers != nil && !t.answered && t.Answer == nil && (reason == Answered || reason == OutOfTurn)
	t.Reason, t.Problem = reason, problem
	switch {
	case asks:
		t.Next = AnswerNode
	case len(a.afterAgent) > 0:
		t.Next = AfterNode
	default:
		return a.end(ctx, t)
	}
	o := a.outcome(t)
	if !asks {
		o.Reason, o.Problem = reason, problem
	}
	return append(t.update, a.run.Put(t.progress), Result.Put(o))
}

// explain adds a message with the reason of the end to the conversation, unless the conversation ends with a text of
// the assistant, the run has a structured answer, or the reason needs no text.
func (a *agent) explain(ctx context.Context, t *turn) {
	text := t.Reason.text(t.Turns)
	s, err := state.Apply(t.start, t.update...)
	if text == "" || t.Answer != nil || err != nil { // the engine returns the error
		return
	}
	if last, _ := a.messages.Last(s); last.Role == llm.RoleAssistant && last.Text() != "" {
		return
	}
	message := llm.Assistant(text)
	message.Name = a.name
	t.update = append(t.update, a.messages.Put(say(ctx, message)))
}

// text returns the message for a person if an agent ended for this reason after a number of turns, without a reply of
// the model. It returns "" for reasons that need no message.
func (r Reason) text(turns int) string {
	switch r {
	case OutOfTurn:
		return fmt.Sprintf("I stopped: the limit of model calls for one request (%d) is reached.", turns)
	case CutOff:
		return "I stopped: a token limit cut off the reply."
	case Filtered:
		return "I stopped: the provider refused or filtered the reply."
	case Unfit:
		return "I stopped: the model did not give its answer in the required form."
	}
	return ""
}

// end returns the writes that end the run, and emits the outcome.
func (a *agent) end(ctx context.Context, t *turn) state.Update {
	a.explain(ctx, t)
	o := a.outcome(t)
	o.Reason, o.Problem = t.Reason, t.Problem
	graph.Emit(ctx, o)
	return append(t.update, a.run.Put(progress{}), Result.Put(o))
}

func (a *agent) outcome(t *turn) Outcome {
	return Outcome{Agent: a.name, Turns: t.Turns, Usage: t.Usage, Answer: t.Answer}
}

// after is the node that runs the AfterAgent functions. It exists only if a middleware has one.
func (a *agent) after(ctx context.Context, s state.View) (state.Update, error) {
	t := &turn{progress: a.run.Get(s), start: s}
	t.at = Run{Agent: a.name, State: s, Messages: a.messages, Turn: t.Turns, Usage: t.Usage}
	writes, c, err := t.at.apply(ctx, a.afterAgent, nil)
	if err != nil {
		return nil, err
	}
	t.update = append(t.update, writes...)
	switch {
	case c == nil:
		return a.end(ctx, t), nil
	case c.to != ModelNode:
		return nil, c
	case t.Turns >= a.options.MaxTurns:
		t.Reason, t.Problem = OutOfTurn, a.outOfTurns(t)
		return a.end(ctx, t), nil
	}
	t.Reason, t.Problem, t.Answer = Running, "", nil
	return a.jump(t, ModelNode)
}

// repaired returns the messages in a form that every provider accepts.
func repaired(messages []llm.Message) []llm.Message { return slices.Clip(tools.Repair(messages)) }

// checkMessages is the branch of Start, which checks the input. It runs before the input is
// stored, so an error leaves the thread unchanged.
func (a *agent) checkMessages(s state.View) (state.Update, error) {
	for i, m := range a.messages.All(s) {
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("agent %q: message %d of the conversation: %w; create messages with llm.System, llm.User, llm.Assistant or llm.ToolResult", a.name, i+1, err)
		}
	}
	if len(a.beforeAgent) > 0 {
		return state.Update{graph.Goto(BeforeNode)}, nil
	}
	return state.Update{graph.Goto(ModelNode)}, nil
}

// next is the branch of the agent's nodes. It sends one task for each tool call of the last
// reply.
func (a *agent) next(s state.View) (state.Update, error) {
	to := a.run.Get(s).Next
	if to != "" && to != ToolsNode {
		return state.Update{graph.Goto(to)}, nil
	}
	var out state.Update
	for _, c := range tools.Pending(a.messages.Get(s)) {
		out = append(out, graph.SendOver(ToolsNode, call.Put(c)))
	}
	if to == ToolsNode && len(out) == 0 { // a jump without calls
		out = append(out, graph.Goto(ModelNode))
	}
	return out, nil
}
