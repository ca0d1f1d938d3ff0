package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A Limit is a maximum number of calls. Zero means no limit.
type Limit struct {
	// Run is the limit for one run. Thread is the limit for all runs of a thread. If the agent is
	// a node of another graph, [CallLimit] needs [graph.SubgraphOptions].Persist for Thread: without it, the
	// count begins at zero in each run.
	Run, Thread int
	// Tool is the name of a tool, for [ToolLimit]. Empty means all tools together.
	Tool string
}

// calls counts the model calls of each agent in a thread, by the name of the agent. A write adds to
// the number, so all calls of concurrent sub-agents count.
var calls = state.NewChannel("agent_call_counts", func(counts, more map[string]int) (map[string]int, error) {
	if counts == nil {
		return more, nil
	}
	for name, n := range more {
		counts[name] += n
	}
	return counts, nil
}).Internal()

// countedKey is the context key of a model call that an outer CallLimit counts.
type countedKey struct{}

// CallLimit stops a run before a model call that would exceed the limit. Unlike
// Options.MaxTurns, it can count all runs of a thread, and it does not ask the model for a last
// answer.
//
// The calls of a sub-agent count in the thread if its caller has a CallLimit too. Otherwise each
// task of the sub-agent counts from zero.
func CallLimit(l Limit) agent.Middleware {
	return agent.Middleware{
		Name: "call limit", Channels: []state.Handle{calls},
		BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
			made := calls.Get(r.State)[r.Agent]
			switch {
			case l.Run > 0 && r.Turn > l.Run:
				return nil, agent.Stop(llm.Assistant(fmt.Sprintf("I stopped: the limit of model calls for one request (%d) is reached.", l.Run)))
			case l.Thread > 0 && made >= l.Thread:
				return nil, agent.Stop(llm.Assistant(fmt.Sprintf("I stopped: the limit of model calls for this conversation (%d) is reached.", l.Thread)))
			}
			return nil, nil
		},
		WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			if ctx.Value(countedKey{}) == c.Agent {
				return next(ctx, c)
			}
			reply, err := next(context.WithValue(ctx, countedKey{}, c.Agent), c)
			reply.Update = append(reply.Update, calls.Put(map[string]int{c.Agent: 1}))
			return reply, err
		},
	}
}

// ToolLimit answers a tool call with an error if the limit is reached. It counts the calls in
// the conversation, failed calls too, in the order in which the model made them.
// A sub-agent has a conversation of its own.
func ToolLimit(l Limit) agent.Middleware {
	var names []string
	if l.Tool != "" {
		names = []string{l.Tool}
	}
	return agent.Middleware{Name: "tool limit", ToolNames: names, WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		if l.Tool != "" && tools.Invoked(c.Call) != l.Tool {
			return next(ctx, c)
		}
		run, thread := l.count(c)
		what := "tool calls"
		if l.Tool != "" {
			what = fmt.Sprintf("calls of %q", l.Tool)
		}
		for _, at := range []struct {
			limit, made int
			in          string
		}{{l.Run, run, "one request"}, {l.Thread, thread, "this conversation"}} {
			if at.limit > 0 && at.made >= at.limit {
				return tools.Outcome{Message: llm.ToolError(c.Call, fmt.Sprintf("The limit of %d %s for %s is reached. Answer without it.", at.limit, what, at.in))}, nil
			}
		}
		return next(ctx, c)
	}}
}

// count returns the number of calls that the model made before this call, in the run and in the
// thread.
func (l Limit) count(c agent.ToolCall) (run, thread int) {
	isCall := func(made llm.ToolCall) bool { return made.ID == c.Call.ID }
	messages := c.Messages.Get(c.State)
	last := len(messages) - 1 // the reply with the call; earlier replies may have used its id
	for last > 0 && !slices.ContainsFunc(messages[last].ToolCalls, isCall) {
		last--
	}
	for i, m := range messages {
		if m.Role == llm.RoleUser && !m.Relayed() {
			run = 0
		}
		for _, made := range m.ToolCalls {
			if i == last && isCall(made) {
				return run, thread
			}
			if l.Tool == "" || tools.Invoked(made) == l.Tool {
				run++
				thread++
			}
		}
	}
	return run, thread
}

// A Spending is a budget. A zero field means no limit.
type Spending struct {
	// Tokens and Cost limit one run.
	Tokens int64
	Cost   float64
	// ThreadTokens and ThreadCost limit all runs of a thread, sub-agents included.
	ThreadTokens int64
	ThreadCost   float64
	// Price returns the cost of a usage, in the currency of Cost. It is required if Cost or
	// ThreadCost is set: [agent.New] returns an error without it.
	Price func(llm.Usage) float64
}

// Budget stops a run before the next model call when the budget is spent. The call that exceeds
// the budget is still paid, so the overrun is at most one call.
//
// If the provider does not report the usage of a reply, the reply counts as zero. With such a provider, limit
// the calls too, with [CallLimit]. The Problem of [agent.Outcome] is the text of the stop.
//
// The usage of concurrent sub-agents counts only after all of them have ended, so until then they
// can exceed a budget of the thread.
func Budget(s Spending) agent.Middleware {
	if (s.Cost > 0 || s.ThreadCost > 0) && s.Price == nil {
		return agent.Middleware{Name: "budget", Err: errors.New("Spending.Price is nil; the limits of cost need it")}
	}
	over := func(u llm.Usage, tokens int64, cost float64) bool {
		return tokens > 0 && u.Total >= tokens || cost > 0 && s.Price(u) >= cost
	}
	return agent.Middleware{Name: "budget", BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
		switch {
		case over(r.Usage, s.Tokens, s.Cost):
			return nil, agent.Stop(llm.Assistant("I stopped: the budget for one request is spent."))
		case over(agent.Usage.Get(r.State), s.ThreadTokens, s.ThreadCost):
			return nil, agent.Stop(llm.Assistant("I stopped: the budget for this conversation is spent."))
		}
		return nil, nil
	}}
}
