package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// ErrNoAnswer is returned by [Answer] when an agent ended without a structured
// answer or has not ended.
var ErrNoAnswer = errors.New("there is no structured answer")

// A Structure describes the structured answer of an agent. [Structured] creates
// one. The zero value means that the agent has no structured answer.
type Structure struct {
	ask   func(context.Context, llm.Model, llm.Request) (json.RawMessage, llm.Usage, error)
	check func() error
}

// Structured makes an agent end with an answer of type T, which [Answer] reads. After
// its last reply, the model is asked for the answer with [llm.As], which checks the
// answer against the schema of T. If it does not match, the model is asked once more.
// If the second answer does not match either, the run ends with [Unfit].
func Structured[T any]() Structure {
	get := func(ctx context.Context, m llm.Model, r llm.Request) (json.RawMessage, llm.Usage, error) {
		answer, usage, err := llm.As[T](ctx, m, r)
		if err != nil {
			return nil, usage, err
		}
		text, err := json.Marshal(answer)
		return text, usage, err
	}
	return Structure{ask: get, check: func() error {
		// If T is supported, llm.As asks the model below, whose error is reached. If T is
		// not supported, llm.As returns another error before it asks.
		reached := errors.New("the model is asked")
		stop := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) { yield(llm.Chunk{}, reached) }
		})
		_, _, err := llm.As[T](context.Background(), stop, llm.Request{Messages: []llm.Message{llm.User("?")}})
		if errors.Is(err, reached) {
			return nil
		}
		return err
	}}
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

const askForAnswer = "Now give the answer in the required form."

// answer is the node that asks the model for the structured answer.
func (a *agent) answer(ctx context.Context, s state.View) (state.Update, error) {
	t := &turn{}
	if err := a.prepare(ctx, s, t); err != nil {
		return nil, err
	}
	t.request.Messages = append(t.request.Messages, llm.User(askForAnswer))
	text, usage, err := a.options.Answer.ask(ctx, t.model, t.request)
	r := a.run.Get(s)
	o := Outcome{Agent: a.name, Reason: r.Reason, Problem: r.Problem, Turns: r.Turns, Usage: r.Usage.Add(usage), Answer: text}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, err
	case errors.Is(err, llm.ErrContentFilter):
		o.Reason, o.Problem = Filtered, err.Error()
	case errors.Is(err, llm.ErrMalformed), errors.Is(err, llm.ErrEmpty):
		o.Reason, o.Problem = Unfit, err.Error()
	default:
		return nil, err
	}
	graph.Emit(ctx, o)
	return append(t.update, a.run.Put(run{}), Result.Put(o), Usage.Put(usage)), nil
}
