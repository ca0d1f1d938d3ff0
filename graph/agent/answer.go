package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// ErrNoAnswer is returned by [Answer] when an agent ended without a structured
// answer or has not ended.
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

// Answer returns the structured answer of the last run. If there is none, the
// error wraps [ErrNoAnswer] and gives the reason.
func Answer[T any](s state.View) (T, error) {
	var answer T
	r := Result.Get(s)
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

// readAnswer returns the structured answer of a reply that only calls the answer tool, and
// changes the reply: the answer as text replaces the call. It returns nil for any other
// reply, if the answer does not fit, and in the last turn.
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
	t := &turn{progress: a.run.Get(s), start: s}
	t.at = Run{Agent: a.name, State: s, Messages: a.messages, Usage: t.Usage}
	c, err := a.newCall(ctx, t)
	if err != nil {
		return nil, err
	}
	var usage llm.Usage
	reply, err := a.wrapModel(func(ctx context.Context, c ModelCall) (Reply, error) {
		r, err := a.complete(t, c)
		if err != nil {
			return Reply{}, err
		}
		r.Messages = append(r.Messages, llm.User(askForAnswer))
		var text json.RawMessage
		var cost llm.Usage
		text, cost, err = a.answers.ask(ctx, c.wrapped(), r)
		usage = usage.Add(cost)
		if err != nil {
			return Reply{}, &innerError{err}
		}
		return Reply{Message: llm.Assistant(string(text))}, nil
	})(ctx, c)
	reason, problem := t.Reason, t.Problem
	switch {
	case err == nil:
		t.Answer = json.RawMessage(reply.Message.Text())
	case ctx.Err() != nil:
		return nil, err
	case controlOf(err) != nil:
		return a.skipModel(ctx, t, controlOf(err))
	case errors.Is(err, llm.ErrContentFilter):
		reason, problem = Filtered, err.Error()
	case errors.Is(err, llm.ErrMalformed), errors.Is(err, llm.ErrEmpty):
		reason, problem = Unfit, err.Error()
	default:
		return nil, err
	}
	a.spend(t, &usage)
	t.update = append(t.update, reply.Update...)
	t.answered = true
	return a.finish(ctx, t, reason, problem), nil
}
