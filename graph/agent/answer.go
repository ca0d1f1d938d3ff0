package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// ErrNoAnswer is returned by [Answer] when an agent ended without a structured
// answer or has not ended.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#agenterrnoanswer.
var ErrNoAnswer = errors.New("there is no structured answer")

// A Structure describes the structured answer of an agent. [Structured] creates one. The
// zero value means that the agent has no structured answer.
type Structure struct {
	newForm func(toolName string) (*answerForm, error)
}

// An answerForm has the functions that ask for and read structured answers of one type.
type answerForm struct {
	spec llm.ToolSpec // the answer tool
	read func(llm.ToolCall) (json.RawMessage, error)
	ask  func(context.Context, llm.Model, llm.Request) (json.RawMessage, llm.Usage, error)
}

// Structured makes an agent end with an answer of type T, which [Answer] reads.
//
// In every turn but the last, the request offers the tool "answer", whose arguments have
// the schema of T; see [llm.AnswerTool]. When the model calls only this tool and the answer
// fits, the run ends, and the answer is stored as the text of the reply. If the answer does
// not fit, or if the reply has other calls, the call is answered with an error and the
// model is asked again.
//
// If the model ends with a text instead, it is asked for the answer with [llm.As]. If the
// answer does not fit, the model is asked once more. If the second answer does not fit
// either, the run ends with [Unfit].
func Structured[T any]() Structure {
	return Structure{func(toolName string) (*answerForm, error) {
		tool, err := llm.NewAnswerTool[T](toolName)
		if err != nil {
			return nil, err
		}
		return &answerForm{
			spec: tool.Spec(),
			read: func(c llm.ToolCall) (json.RawMessage, error) {
				answer, err := tool.Read(c)
				if err != nil {
					return nil, err
				}
				return json.Marshal(answer)
			},
			ask: func(ctx context.Context, m llm.Model, r llm.Request) (json.RawMessage, llm.Usage, error) {
				answer, usage, err := llm.As[T](ctx, m, r)
				if err != nil {
					return nil, usage, err
				}
				text, err := json.Marshal(answer)
				return text, usage, err
			},
		}, nil
	}}
}

// form returns the form of the structured answer, or nil if the agent has none. The name of
// the answer tool differs from the names of all other tools.
func (s Structure) form(set *tools.Set) (*answerForm, error) {
	if s.newForm == nil {
		return nil, nil
	}
	name := "answer"
	for _, taken := set.Lookup(name); taken; _, taken = set.Lookup(name) {
		name += "_"
	}
	return s.newForm(name)
}

// Answer returns the structured answer of the last run of an agent, which stays in the state until an agent runs
// again. If there is none, the error wraps [ErrNoAnswer] and gives the reason. In a graph around the agent, the answer of an
// earlier turn stays until the agent ends; see [Result].
func Answer[T any](s state.View) (T, error) {
	var answer T
	r := Result.Get(s)
	if r.Agent == "" {
		return answer, fmt.Errorf("agent: %w: no agent has ended in this thread", ErrNoAnswer)
	}
	if len(r.Answer) == 0 {
		return answer, fmt.Errorf("agent %q: %w: %s", r.Agent, ErrNoAnswer, r.whyNoAnswer())
	}
	if err := json.Unmarshal(r.Answer, &answer); err != nil {
		return *new(T), fmt.Errorf("agent %q: the answer does not decode into %T: %w", r.Agent, answer, err)
	}
	return answer, nil
}

func (o Outcome) whyNoAnswer() string {
	switch {
	case o.Reason == Running:
		return "the agent has not ended"
	case o.Reason == Answered:
		return "the agent has no Options.Answer"
	case o.Problem == "":
		return string(o.Reason)
	}
	return string(o.Reason) + ": " + o.Problem
}

// isAnswer reports whether a call calls the answer tool.
func (a *agent) isAnswer(c llm.ToolCall) bool {
	return a.answers != nil && c.Name == a.answers.spec.Name
}

func (a *agent) isAnswerSpec(t llm.ToolSpec) bool {
	return a.answers != nil && t.Name == a.answers.spec.Name
}

// offerAnswer adds the answer tool to the request of a turn. In the last turn, no tool may
// be called. The tool is still added if the conversation has calls of it, because some
// providers reject a conversation that calls unknown tools. The answer node has no turn,
// and [llm.As] adds its own tool.
func (a *agent) offerAnswer(t *turn, r *llm.Request) {
	if a.answers == nil || t.at.Turn == 0 {
		return
	}
	called := func(m llm.Message) bool { return slices.ContainsFunc(m.ToolCalls, a.isAnswer) }
	if !t.last || slices.ContainsFunc(r.Messages, called) {
		r.Tools = append(slices.Clip(r.Tools), a.answers.spec)
	}
}

// readAnswer returns the structured answer if a reply calls only the answer tool and the answer
// fits. It then replaces the call in the reply by the answer as text. It returns nil for any other
// reply, for a filtered reply, in the last turn, and if the request did not offer the tool.
func (a *agent) readAnswer(t *turn, reply *llm.Message) json.RawMessage {
	if len(reply.ToolCalls) != 1 || !a.isAnswer(reply.ToolCalls[0]) || t.last || reply.StopReason == llm.StopFilter || !t.offers(a.answers.spec.Name) {
		return nil
	}
	text, err := a.answers.read(reply.ToolCalls[0])
	if err != nil {
		return nil
	}
	said := string(text)
	if reply.Text() != "" {
		said = "\n\n" + said
	}
	reply.ToolCalls = nil
	reply.Parts = append(slices.Clip(reply.Parts), llm.Text(said))
	if reply.StopReason == llm.StopToolCalls {
		reply.StopReason = llm.StopEnd
	}
	return text
}

// rejectAnswer returns the result of a call of the answer tool that did not end the run.
func (a *agent) rejectAnswer(c llm.ToolCall) llm.Message {
	_, err := a.answers.read(c)
	if err == nil {
		return llm.ToolError(c, "The answer was not accepted, because the reply has other tool calls. Read their results, then call "+c.Name+" alone.")
	}
	problem := err.Error()
	if e, ok := errors.AsType[*llm.AnswerError](err); ok {
		problem = strings.Join(e.Problems, "; ")
	}
	return llm.ToolError(c, "This does not fit: "+problem+". Call "+c.Name+" again with the whole answer.")
}

const askForAnswer = "Now give the answer in the required form."

// answer is the node that asks the model for the structured answer.
func (a *agent) answer(ctx context.Context, s state.View) (state.Update, error) {
	t := &turn{progress: a.run.Get(s), start: s, answered: true}
	t.at = Run{Agent: a.name, State: s, Messages: a.messages, Usage: t.Usage}
	var failed llm.Usage // of a request that did not give an answer
	reply, err := a.askForm(ctx, t, &failed)
	for _, r := range t.replies {
		a.spend(t, r.Usage)
	}
	a.spend(t, &failed)
	if c := controlOf(err); c != nil {
		t.last = t.Turns >= a.options.MaxTurns
		return a.skipModel(ctx, t, c)
	}
	if err == nil {
		t.update = append(t.update, reply.Update...)
		if err := t.at.add(reply.Update); err != nil {
			return nil, fmt.Errorf("a middleware around the model: %w", err)
		}
		t.Answer, err = a.readForm(reply.Message)
	}
	switch {
	case err == nil:
		return a.finish(ctx, t, t.Reason, t.Problem), nil
	case ctx.Err() != nil:
	case errors.Is(err, llm.ErrContentFilter):
		return a.finish(ctx, t, Filtered, err.Error()), nil
	case errors.Is(err, io.ErrUnexpectedEOF): // the connection ended: the next run asks again
	case errors.Is(err, llm.ErrMalformed), errors.Is(err, llm.ErrEmpty):
		return a.finish(ctx, t, Unfit, err.Error()), nil
	}
	a.keepReplies(ctx, t, err)
	return nil, err
}

// askForm asks the model for the structured answer through the middleware. Middleware sees the
// answer as a call of the answer tool, as in other turns.
func (a *agent) askForm(ctx context.Context, t *turn, failed *llm.Usage) (Reply, error) {
	c, err := a.newCall(ctx, t)
	if err != nil {
		return Reply{}, err
	}
	return a.wrapModel(func(ctx context.Context, c ModelCall) (Reply, error) {
		r, err := a.complete(t, c)
		if err != nil {
			return Reply{}, err
		}
		r.Messages = append(r.Messages, llm.User(askForAnswer))
		reply, err := a.storedReply(ctx, t)
		if errors.Is(err, errNoReply) {
			var text json.RawMessage
			var cost llm.Usage
			if text, cost, err = a.answers.ask(ctx, c.wrapped(), r); err != nil {
				*failed = failed.Add(cost)
			}
			reply = llm.Assistant("", llm.ToolCall{ID: "answer", Name: a.answers.spec.Name, Arguments: text})
			reply.Usage = &cost
		}
		if err != nil {
			return Reply{}, &innerError{err}
		}
		t.replies = append(t.replies, reply)
		return Reply{Message: reply}, nil
	})(ctx, c)
}

// readForm returns the structured answer of a reply that askForm returned.
func (a *agent) readForm(reply llm.Message) (json.RawMessage, error) {
	call := llm.ToolCall{Arguments: json.RawMessage(reply.Text())} // a middleware may reply with a text
	if at := slices.IndexFunc(reply.ToolCalls, a.isAnswer); at >= 0 {
		call = reply.ToolCalls[at]
	}
	return a.answers.read(call)
}
