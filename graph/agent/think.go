package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A turn is one request to the model.
type turn struct {
	run
	model   llm.Model
	request llm.Request
	last    bool // the model may not call tools
	update  state.Update
}

// think is the node that asks the model for its next reply.
func (a *agent) think(ctx context.Context, s state.View) (state.Update, error) {
	t := &turn{run: a.current(s)}
	t.Turns++
	t.last = t.Turns >= a.options.MaxTurns
	graph.Emit(ctx, Turn{Agent: a.name, Number: t.Turns, Most: a.options.MaxTurns})
	if err := a.prepare(ctx, s, t); err != nil {
		return nil, err
	}
	reply, end, err := ask(ctx, t.model, t.request)
	if err != nil {
		return a.failed(ctx, t, end, err)
	}
	if reply.Name == "" {
		reply.Name = a.name
	}
	if a.options.Review != nil {
		writes, err := a.options.Review(ctx, s, &reply)
		if err != nil {
			return nil, fmt.Errorf("review: %w", err)
		}
		if err := reply.Validate(); err != nil || reply.Role != llm.RoleAssistant {
			return nil, fmt.Errorf("review: Options.Review made the reply invalid: %w", errors.Join(err, llm.ErrInvalid))
		}
		t.update = append(t.update, writes...)
	}
	return a.handleReply(ctx, t, reply), nil
}

// current returns the stored state of the run. A user message starts a new run.
func (a *agent) current(s state.View) run {
	if last, _ := a.messages.Last(s); last.Role == llm.RoleUser {
		return run{}
	}
	return a.run.Get(s)
}

// prepare builds the request of a turn.
func (a *agent) prepare(ctx context.Context, s state.View, t *turn) error {
	o := &a.options
	messages, update, err := a.history(ctx, s)
	if err != nil {
		return err
	}
	t.model, t.update = a.model, update
	t.request = llm.Request{Messages: messages, Tools: a.tools.Specs()}
	if a.needsPrompt(messages) {
		t.request.Messages = append(t.request.Messages, llm.User(yourTurn))
	}
	system := o.System
	if o.SystemFrom != nil {
		if system, err = o.SystemFrom(ctx, s); err != nil {
			return fmt.Errorf("system prompt: %w", err)
		}
	}
	if system != "" {
		t.request.Messages = append([]llm.Message{llm.System(system)}, t.request.Messages...)
	}
	a.offerAnswer(t)
	if t.last && len(t.request.Tools) > 0 {
		t.request.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone}
	}
	if o.Model != nil {
		chosen, err := o.Model(ctx, s)
		if err != nil {
			return fmt.Errorf("choosing the model: %w", err)
		}
		if chosen != nil {
			t.model = chosen
		}
	}
	if o.Prepare != nil {
		if err := o.Prepare(ctx, s, &t.request); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	if t.request.Format.Type != llm.FormatText {
		t.request.Tools = slices.DeleteFunc(slices.Clone(t.request.Tools), a.isAnswerSpec)
	}
	return a.checkTools(t.request.Tools)
}

// yourTurn is appended to a request that would end with another agent's reply. Some
// providers reject such a request, and others continue the reply instead.
const yourTurn = "It is your turn now."

// needsPrompt reports whether the last message is a reply of another agent.
func (a *agent) needsPrompt(messages []llm.Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := messages[len(messages)-1]
	return last.Role == llm.RoleAssistant && (a.supervises || last.Name != "" && last.Name != a.name)
}

// checkTools returns an error if a tool of the request is not in the agent's set.
func (a *agent) checkTools(specs []llm.ToolSpec) error {
	for _, spec := range specs {
		if _, ok := a.tools.Lookup(spec.Name); !ok && !a.isAnswerSpec(spec) {
			return fmt.Errorf("prepare: tool %q is not in the agent's set; add it to the set that New gets", spec.Name)
		}
	}
	return nil
}

// failed handles the error of a request. If the provider refused, or cut off the reply
// before it was usable, the run ends with an outcome. Any other error fails the node.
func (a *agent) failed(ctx context.Context, t *turn, end llm.Chunk, err error) (state.Update, error) {
	unusable := errors.Is(err, llm.ErrEmpty) || errors.Is(err, llm.ErrMalformed)
	reason := Running
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, llm.ErrContentFilter), unusable && end.StopReason == llm.StopFilter:
		reason = Filtered
	case unusable && end.StopReason == llm.StopLength:
		reason = CutOff
	}
	if reason == Running {
		return nil, err
	}
	a.spend(t, end.Usage)
	return a.stop(ctx, t, reason, err.Error()), nil
}

func (a *agent) spend(t *turn, u *llm.Usage) {
	if u != nil {
		t.Usage = t.Usage.Add(*u)
		t.update = append(t.update, Usage.Put(*u))
	}
}

// handleReply returns the writes of a reply. It ends the run unless the reply has
// tool calls that may run.
func (a *agent) handleReply(ctx context.Context, t *turn, reply llm.Message) state.Update {
	a.spend(t, reply.Usage)
	stored := []llm.Message{reply}
	ends := t.last || reply.StopReason == llm.StopFilter
	if answer := a.answered(t, &reply); answer != nil {
		o := a.outcome(t)
		o.Reason, o.Answer = Answered, answer
		graph.Emit(ctx, o)
		return append(t.update, a.messages.Put(reply), a.run.Put(run{}), Result.Put(o))
	}
	if len(reply.ToolCalls) > 0 && !ends {
		t.Withheld = a.withheld(t, reply)
		t.update = append(t.update, a.messages.Put(reply), a.run.Put(t.run), Result.Put(a.outcome(t)))
		return t.update
	}
	reason, problem := Answered, ""
	switch {
	case reply.StopReason == llm.StopFilter:
		reason, problem = Filtered, "the provider filtered the reply"
	case t.last && (len(reply.ToolCalls) > 0 || t.request.ToolChoice.Mode == llm.ToolsNone):
		reason, problem = OutOfTurn, fmt.Sprintf("the model was asked %d times", t.Turns)
	case reply.StopReason == llm.StopLength:
		reason, problem = CutOff, "the reply is cut off"
	}
	for _, c := range reply.ToolCalls {
		stored = append(stored, llm.ToolError(c, "The tool was not called: "+problem+"."))
	}
	t.update = append(t.update, a.messages.Put(stored...))
	return a.stop(ctx, t, reason, problem)
}

// withheld returns the ids of calls of known tools that were not in the request.
func (a *agent) withheld(t *turn, reply llm.Message) (ids []string) {
	for _, c := range reply.ToolCalls {
		_, known := a.tools.Lookup(c.Name)
		if (known || a.isAnswer(c)) && !t.offers(c.Name) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// offers reports whether the request of the turn has a tool.
func (t *turn) offers(name string) bool {
	return slices.ContainsFunc(t.request.Tools, func(spec llm.ToolSpec) bool { return spec.Name == name })
}

func (a *agent) outcome(t *turn) Outcome {
	return Outcome{Agent: a.name, Turns: t.Turns, Usage: t.Usage}
}

// stop ends the run, unless a structured answer has to follow.
func (a *agent) stop(ctx context.Context, t *turn, reason Reason, problem string) state.Update {
	o, left := a.outcome(t), run{}
	if a.answers != nil && (reason == Answered || reason == OutOfTurn) {
		left = run{Turns: t.Turns, Usage: t.Usage, Reason: reason, Problem: problem}
	} else {
		o.Reason, o.Problem = reason, problem
		graph.Emit(ctx, o)
	}
	return append(t.update, a.run.Put(left), Result.Put(o))
}

// repaired returns the messages in a form that every provider accepts.
func repaired(messages []llm.Message) []llm.Message { return slices.Clip(tools.Repair(messages)) }
