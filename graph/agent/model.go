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
)

// A turn is one execution of the model's node.
type turn struct {
	progress
	start   state.View  // the state that the node sees
	at      Run         // the run, with the writes of the middleware so far
	request llm.Request // the last request to the model
	end     llm.Chunk   // the last chunk of its reply, if the reply was not usable
	last    bool        // the model may not call tools
	update  state.Update
	replies []llm.Message // the replies of the model in this turn

	answered bool // the model was asked for the structured answer
}

// think is the node that asks the model for its next reply.
func (a *agent) think(ctx context.Context, s state.View) (state.Update, error) {
	t := a.newTurn(s)
	if a.stop != nil && a.stop.Get(s) != nil {
		t.update = append(t.update, a.stop.Put(nil))
		return a.stopped(ctx, t, *a.stop.Get(s))
	}
	t.Turns++
	t.at.Turn, t.last = t.Turns, t.Turns >= a.options.MaxTurns
	before, c, err := t.at.apply(ctx, a.beforeModel, nil)
	if err != nil {
		return nil, err
	}
	t.update = append(t.update, before...)
	if c != nil && c.to != ModelNode {
		return a.skipModel(ctx, t, c)
	}
	graph.Emit(ctx, Turn{Agent: a.name, Number: t.Turns, Most: a.options.MaxTurns})
	reply, err := a.askModel(ctx, t)
	for _, r := range t.replies { // also replies that a middleware did not use
		a.spend(t, r.Usage)
	}
	if c := controlOf(err); c != nil {
		return a.skipModel(ctx, t, c)
	}
	if err != nil {
		a.keepReplies(ctx, t, err)
		return a.failed(ctx, t, err)
	}
	t.update = append(t.update, reply.Update...)
	if err := t.at.add(reply.Update); err != nil {
		return nil, fmt.Errorf("a middleware around the model: %w", err)
	}
	if reply.Message.Name == "" {
		reply.Message.Name = a.name
	}
	return a.review(ctx, t, reply.Message)
}

func (a *agent) newTurn(s state.View) *turn {
	t := &turn{progress: a.current(s), start: s}
	t.at = Run{Agent: a.name, State: s, Messages: a.messages, Turn: t.Turns, Usage: t.Usage}
	if closed := a.unfinished(s); len(closed) > 0 {
		t.update = state.Update{a.messages.Put(closed...)}
		if after, err := state.Apply(s, t.update...); err == nil { // otherwise the engine returns the error
			t.at.State = after
		}
	}
	return t
}

// current returns the stored progress of the run. A user message starts a new run, unless a
// middleware added it and jumped to the model.
func (a *agent) current(s state.View) progress {
	p := a.run.Get(s)
	if last, _ := a.messages.Last(s); last.Role == llm.RoleUser && (p.Length == 0 || p.Length != a.messages.Len(s)) {
		return progress{}
	}
	return p
}

// askModel asks the model through the middleware.
func (a *agent) askModel(ctx context.Context, t *turn) (Reply, error) {
	c, err := a.newCall(ctx, t)
	if err != nil {
		return Reply{}, err
	}
	a.offerAnswer(t, &c.Request)
	if t.last && len(c.Request.Tools) > 0 {
		c.Request.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone}
	}
	t.request = c.Request
	return a.wrapModel(func(ctx context.Context, c ModelCall) (Reply, error) {
		message, err := a.ask(ctx, t, c)
		return Reply{Message: message}, err
	})(ctx, c)
}

// newCall returns the model call that the middleware gets.
func (a *agent) newCall(ctx context.Context, t *turn) (ModelCall, error) {
	prompts := []string{a.options.System}
	for i, m := range a.options.Use {
		prompts = append(prompts, m.System)
		if m.Prompt == nil {
			continue
		}
		text, err := m.Prompt(ctx, t.at)
		if err != nil {
			return ModelCall{}, &labelledError{m.label(i) + ": prompt", err}
		}
		prompts = append(prompts, text)
	}
	prompts = slices.DeleteFunc(prompts, func(text string) bool { return text == "" })
	return ModelCall{
		Run: t.at, Model: a.model, System: strings.Join(prompts, "\n\n"), Last: t.last,
		Request: llm.Request{Messages: a.messages.Get(t.at.State), Tools: a.tools.Specs()},
	}, nil
}

// wrapModel returns next, wrapped by the middleware.
func (a *agent) wrapModel(next ModelFunc) ModelFunc {
	for i := range slices.Backward(a.options.Use) {
		m, inner := &a.options.Use[i], next
		if m.WrapModel == nil {
			continue
		}
		next = func(ctx context.Context, c ModelCall) (Reply, error) {
			reply, err := m.WrapModel(ctx, c, inner)
			if err != nil {
				err = labelled(m.label(i)+": model call", err)
			}
			return reply, err
		}
	}
	return next
}

// A labelledError is the error of a middleware that wraps a call. An error that passes through
// several middlewares is labelled once.
type labelledError struct {
	label string
	err   error
}

func (e *labelledError) Error() string { return fmt.Sprintf("%s: %v", e.label, e.err) } // err may be a nil pointer
func (e *labelledError) Unwrap() error { return e.err }

// innerError is the error of the wrapped function.
type innerError struct{ error }

func (e *innerError) Unwrap() error { return e.error }

func labelled(label string, err error) error {
	if controlOf(err) != nil {
		return err
	}
	if _, ok := errors.AsType[*labelledError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*innerError](err); ok {
		return err
	}
	return &labelledError{label, err}
}

// ask asks the model. If the node runs again because a middleware waited for a person, it returns
// the stored reply.
func (a *agent) ask(ctx context.Context, t *turn, c ModelCall) (llm.Message, error) {
	r, err := a.complete(t, c)
	if err != nil {
		return llm.Message{}, err
	}
	t.request = r
	reply, err := a.storedReply(ctx, t)
	if errors.Is(err, errNoReply) {
		reply, t.end, err = ask(ctx, c.wrapped(), r)
	}
	if err != nil {
		return llm.Message{}, &innerError{err}
	}
	t.replies, t.end = append(t.replies, reply), llm.Chunk{}
	return reply, nil
}

// complete returns the request of a call. It repairs the messages, adds the system prompt, and
// checks the tools.
func (a *agent) complete(t *turn, c ModelCall) (llm.Request, error) {
	r := c.Request
	r.Messages = repaired(r.Messages)
	if a.needsPrompt(t, r.Messages) {
		r.Messages = append(r.Messages, llm.User(yourTurn))
	}
	if c.System != "" {
		r.Messages = append([]llm.Message{llm.System(c.System)}, r.Messages...)
	}
	if len(r.Messages) == 0 {
		return r, fmt.Errorf("agent %q: there are no messages: put one into channel %q; a graph around the agent must declare it in graph.New: %w",
			a.name, a.messages.Name(), llm.ErrInvalid)
	}
	if r.Format.Type != llm.FormatText {
		r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), a.isAnswerSpec)
	}
	if c.Model == nil {
		return r, fmt.Errorf("agent %q: the model is nil; pass a model to New, or set ModelCall.Model in a middleware", a.name)
	}
	return r, a.checkTools(r.Tools)
}

var errNoReply = errors.New("no reply is stored")

// storedReply returns the next reply that keepReplies stored. Without one, it returns
// errNoReply.
func (a *agent) storedReply(ctx context.Context, t *turn) (llm.Message, error) {
	if !a.mayAsk {
		return llm.Message{}, errNoReply
	}
	return graph.Once(ctx, replyKey(len(t.replies)), func(context.Context) (llm.Message, error) { return llm.Message{}, errNoReply })
}

// keepReplies stores the replies of the turn if a middleware waits for a person.
func (a *agent) keepReplies(ctx context.Context, t *turn, err error) {
	if !graph.IsPause(err) {
		return
	}
	for i, reply := range t.replies {
		// If the reply cannot be stored, Once fails the task.
		_, _ = graph.Once(ctx, replyKey(i), func(context.Context) (llm.Message, error) { return reply, nil })
	}
}

func replyKey(i int) string { return fmt.Sprintf("agent: reply %d", i) }

// yourTurn is appended to a request that would end with a reply of a model. Some providers
// reject such a request, and others continue the reply instead.
const yourTurn = "It is your turn now."

// needsPrompt reports whether the last message is a reply of another agent, or a reply after
// which a middleware jumped to the model.
func (a *agent) needsPrompt(t *turn, messages []llm.Message) bool {
	if len(messages) == 0 {
		return false
	}
	last := messages[len(messages)-1]
	return last.Role == llm.RoleAssistant && (len(a.members) > 0 || t.Length > 0 || last.Name != "" && last.Name != a.name)
}

// checkTools returns an error if the request has a tool that the agent does not have.
func (a *agent) checkTools(specs []llm.ToolSpec) error {
	for _, spec := range specs {
		if _, ok := a.tools.Lookup(spec.Name); !ok && !a.isAnswerSpec(spec) {
			return fmt.Errorf("agent %q: tool %q of the request is not a tool of the agent; add it to the set that New gets, or to Middleware.Tools", a.name, spec.Name)
		}
	}
	return nil
}

// review runs the AfterModel functions and stores the reply.
func (a *agent) review(ctx context.Context, t *turn, reply llm.Message) (state.Update, error) {
	after, c, err := t.at.apply(ctx, a.afterModel, &reply)
	if err != nil {
		a.keepReplies(ctx, t, err)
		return nil, err
	}
	if err := reply.Validate(); err != nil || reply.Role != llm.RoleAssistant {
		return nil, fmt.Errorf("agent %q: a middleware made the reply invalid: %w", a.name, errors.Join(err, llm.ErrInvalid))
	}
	switch {
	case c == nil || c.to == ToolsNode:
		return append(a.handleReply(ctx, t, reply), after...), nil
	case c.to == "":
		a.put(t, reply, "the run was stopped")
		t.update = append(t.update, after...)
		return a.stopped(ctx, t, c.message)
	case c.to != ModelNode:
		return nil, c
	case t.last:
		problem := a.outOfTurns(t)
		a.put(t, reply, problem)
		t.update = append(t.update, after...)
		return a.finish(ctx, t, OutOfTurn, problem), nil
	}
	a.put(t, reply, "the model is asked again")
	t.update = append(t.update, after...)
	return a.jump(t, ModelNode)
}

// skipModel ends a turn for a Stop or Jump that was returned before the model replied.
func (a *agent) skipModel(ctx context.Context, t *turn, c *control) (state.Update, error) {
	switch {
	case c.to == "":
		return a.stopped(ctx, t, c.message)
	case t.last:
		return a.finish(ctx, t, OutOfTurn, a.outOfTurns(t)), nil
	case c.to == ModelNode, c.to == ToolsNode:
		return a.jump(t, c.to)
	}
	return nil, c
}

// jump continues the run at a node.
func (a *agent) jump(t *turn, node string) (state.Update, error) {
	s, err := state.Apply(t.start, t.update...)
	if err != nil {
		return nil, err
	}
	t.Next, t.Length, t.Refused = node, a.messages.Len(s), nil
	return append(t.update, a.run.Put(t.progress), Result.Put(a.outcome(t))), nil
}

// failed handles the error of a request. If the provider refused, or cut off the reply so that it
// is not usable, the run ends with an outcome. Any other error fails the node.
func (a *agent) failed(ctx context.Context, t *turn, err error) (state.Update, error) {
	unusable := errors.Is(err, llm.ErrEmpty) || errors.Is(err, llm.ErrMalformed)
	reason := Running
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, llm.ErrContentFilter), unusable && t.end.StopReason == llm.StopFilter:
		reason = Filtered
	case unusable && t.end.StopReason == llm.StopLength:
		reason = CutOff
	}
	if reason == Running {
		return nil, err
	}
	a.spend(t, t.end.Usage)
	return a.finish(ctx, t, reason, err.Error()), nil
}

func (a *agent) spend(t *turn, u *llm.Usage) {
	if u != nil {
		t.Usage = t.Usage.Add(*u)
		t.update = append(t.update, Usage.Put(*u))
	}
}

// handleReply returns the writes for a reply. It ends the run unless the reply has tool calls
// that may run.
func (a *agent) handleReply(ctx context.Context, t *turn, reply llm.Message) state.Update {
	ends := t.last || reply.StopReason == llm.StopFilter
	if answer := a.readAnswer(t, &reply); answer != nil {
		t.update = append(t.update, a.messages.Put(reply))
		t.Answer = answer
		return a.finish(ctx, t, Answered, "")
	}
	if len(reply.ToolCalls) > 0 && !ends {
		t.Next, t.Refused = "", a.refused(t, reply)
		return append(t.update, a.messages.Put(reply), a.run.Put(t.progress), Result.Put(a.outcome(t)))
	}
	reason, problem := Answered, ""
	switch {
	case reply.StopReason == llm.StopFilter:
		reason, problem = Filtered, "the provider filtered the reply"
	case t.last && (len(reply.ToolCalls) > 0 || t.request.ToolChoice.Mode == llm.ToolsNone):
		reason, problem = OutOfTurn, a.outOfTurns(t)
	case reply.StopReason == llm.StopLength:
		reason, problem = CutOff, "the reply is cut off"
	}
	a.put(t, reply, problem)
	return a.finish(ctx, t, reason, problem)
}

func (a *agent) outOfTurns(t *turn) string {
	return fmt.Sprintf("the model was asked %d times", t.Turns)
}

// put stores a reply, and an error as the result of each of its tool calls.
func (a *agent) put(t *turn, reply llm.Message, why string) {
	stored := []llm.Message{reply}
	for _, c := range reply.ToolCalls {
		stored = append(stored, llm.ToolError(c, "The tool was not called: "+why+"."))
	}
	t.update = append(t.update, a.messages.Put(stored...))
}

// refused returns the error text for each call that is refused: calls of tools that were not in
// the request, and every handover of the conversation after the first.
func (a *agent) refused(t *turn, reply llm.Message) map[string]string {
	refused := map[string]string{}
	handedOver := false
	for _, c := range reply.ToolCalls {
		_, known := a.tools.Lookup(c.Name)
		switch {
		case (known || a.isAnswer(c)) && !t.offers(c.Name):
			refused[c.ID] = notOffered(c)
		case slices.Contains(a.handoffs, c.Name) && handedOver:
			refused[c.ID] = "The conversation can be handed over once in a reply, and the first handover counts."
		}
		handedOver = handedOver || slices.Contains(a.handoffs, c.Name) && refused[c.ID] == ""
	}
	return refused
}

func notOffered(c llm.ToolCall) string {
	return fmt.Sprintf("tool %q is not available in this turn", c.Name)
}

// offers reports whether the request of the turn has the tool with this name.
func (t *turn) offers(name string) bool {
	return slices.ContainsFunc(t.request.Tools, func(spec llm.ToolSpec) bool { return spec.Name == name })
}
