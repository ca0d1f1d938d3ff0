package plan

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// Questions returns the questions for a person who approves a plan as a whole: one for each
// action whose call the rule selects. [tools.Bound] values come from ctx.
//
// If the arguments of an action refer to the result of another action, there is no question
// for it, because its arguments are not known yet. The function that [Approved] returns
// asks about it when the arguments are known. The error wraps [ErrInvalid] if the plan has
// mistakes.
func Questions(ctx context.Context, set *tools.Set, actions []tools.Action, rule tools.Rule) ([]tools.Question, error) {
	if err := Check(set, actions, nil); err != nil {
		return nil, err
	}
	if err := rule.Check(set); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	known := idsOf(actions, nil)
	var out []tools.Question
	for _, a := range actions {
		if referred, err := references(a.Arguments, known); err != nil || len(referred) > 0 {
			continue
		}
		arguments, err := inject(a.Arguments, nil, false)
		if err != nil {
			return nil, fmt.Errorf("plan: action %q: %w", a.ID, err)
		}
		call := llm.ToolCall{ID: a.ID, Name: a.Tool, Arguments: arguments}
		t, _ := set.Lookup(a.Tool)
		if call.Arguments, err = t.Check(arguments); err != nil {
			return nil, fmt.Errorf("plan: action %q: %w", a.ID, err)
		}
		if !rule.Selects(t, call) {
			continue
		}
		q, err := set.Question(ctx, call)
		if err != nil {
			return nil, fmt.Errorf("plan: action %q: %w", a.ID, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// An AskFunc asks a person about a call; see [tools.Approval].
type AskFunc func(ctx context.Context, key string, q tools.Question) (tools.Decision, error)

// Approved returns a function for [tools.Approval].Ask, for a plan that a person approved
// as a whole. It approves the calls of the given questions, which [Questions] returned. It
// passes every other question to ask: questions about a call whose arguments contain the
// result of another action, whose tool, arguments or bound values have changed, or that an
// earlier run began. If ask is nil, such a call fails with [tools.ErrNoApprover].
func Approved(questions []tools.Question, ask AskFunc) AskFunc {
	approved := make(map[string]string, len(questions))
	for _, q := range questions {
		approved[q.CallID] = q.Hash
	}
	return func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
		if hash, ok := approved[q.CallID]; ok && hash == q.Hash && q.Problem == "" {
			return q.Approve(), nil
		}
		if ask == nil {
			return tools.Decision{}, tools.ErrNoApprover
		}
		return ask(ctx, key, q)
	}
}
