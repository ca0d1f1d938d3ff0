package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The functions of a middleware.
const (
	beforeAgent = "before agent"
	beforeModel = "before model"
	wrapModel   = "wrap model"
	afterModel  = "after model"
	wrapTool    = "wrap tool"
	afterAgent  = "after agent"
)

// A part is a middleware of the property test. Each of its functions adds an entry to the
// channel trail, with the number of entries that it sees.
type part struct {
	name string
	has  map[string]bool
	// at has the number of the call in which a function returns an error, counted from 1. The map
	// how has the error. The keys of both maps are the functions.
	at  map[string]int
	how map[string]error
}

func (p *part) String() string { return fmt.Sprintf("%s%v at %v: %v", p.name, p.has, p.at, p.how) }

var trail = state.Append[string]("trail")

func randomPart(r *rand.Rand, name string) *part {
	p := &part{name, map[string]bool{}, map[string]int{}, map[string]error{}}
	for _, kind := range []string{beforeAgent, beforeModel, wrapModel, afterModel, wrapTool, afterAgent} {
		if p.has[kind] = r.IntN(2) == 0; !p.has[kind] || r.IntN(6) > 0 {
			continue
		}
		choices := []error{agent.Stop(llm.Assistant("stopped by " + name)), agent.Jump(agent.ModelNode), agent.Jump(agent.ToolsNode)}
		switch kind {
		case wrapTool:
			choices = choices[:1]
		case afterAgent:
			choices = choices[1:2]
		}
		p.at[kind], p.how[kind] = 1+r.IntN(2), choices[r.IntN(len(choices))]
	}
	return p
}

// A tally counts the calls of the functions in one run.
type tally map[string]int

// next counts a call of a function. It returns the error that the function must return, or nil.
func (t tally) next(p *part, kind string) error {
	t[p.name+kind]++
	if p.at[kind] == t[p.name+kind] {
		return p.how[kind]
	}
	return nil
}

func (p *part) middleware(calls tally) agent.Middleware {
	note := func(kind string, s state.View) state.Update {
		return state.Update{trail.Put(fmt.Sprintf("%s %s sees %d", p.name, kind, trail.Len(s)))}
	}
	hook := func(kind string) func(context.Context, agent.Run) (state.Update, error) {
		if !p.has[kind] {
			return nil
		}
		return func(_ context.Context, r agent.Run) (state.Update, error) {
			return note(kind, r.State), calls.next(p, kind)
		}
	}
	m := agent.Middleware{
		Name: p.name, Channels: []state.Handle{trail},
		BeforeAgent: hook(beforeAgent), BeforeModel: hook(beforeModel), AfterAgent: hook(afterAgent),
	}
	if after := hook(afterModel); after != nil {
		m.AfterModel = func(ctx context.Context, r agent.Run, _ *llm.Message) (state.Update, error) { return after(ctx, r) }
	}
	if p.has[wrapModel] {
		m.WrapModel = func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			if err := calls.next(p, wrapModel); err != nil {
				return agent.Reply{}, err
			}
			reply, err := next(ctx, c)
			reply.Update = append(reply.Update, note(wrapModel, c.State)...)
			return reply, err
		}
	}
	if p.has[wrapTool] {
		m.WrapTool = func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			if err := calls.next(p, wrapTool); err != nil {
				return tools.Outcome{}, err
			}
			out, err := next(ctx, c)
			out.Update = append(out.Update, note(wrapTool, c.State)...)
			return out, err
		}
	}
	return m
}

// expect simulates a run sequentially. It returns the expected trail, conversation and reason.
func expect(stack []*part, replies []string, maxTurns int) (notes, said []string, reason agent.Reason) {
	calls, turns := tally{}, 0
	note := func(p *part, kind string, seen int) {
		notes = append(notes, fmt.Sprintf("%s %s sees %d", p.name, kind, seen))
	}
	// run calls the functions of a kind and returns the first error.
	run := func(kind string, order []*part) error {
		for _, p := range order {
			if !p.has[kind] {
				continue
			}
			err := calls.next(p, kind)
			note(p, kind, len(notes))
			if err != nil {
				return err
			}
		}
		return nil
	}
	var reversed []*part
	for _, p := range stack {
		reversed = append([]*part{p}, reversed...)
	}
	said = []string{"go"}
	stop := func(err error) bool { return err != nil && strings.Contains(err.Error(), "stopped") }
	jumps := func(err error, node string) bool {
		return err != nil && strings.Contains(err.Error(), fmt.Sprintf("%q", node))
	}
	stopMessage := func(kind string, order []*part) {
		for _, p := range order {
			if p.at[kind] > 0 && p.at[kind] == calls[p.name+kind] && stop(p.how[kind]) {
				said = append(said, "stopped by "+p.name)
				return
			}
		}
	}
	phase := "begin"
	limited := func() { reason, phase = agent.OutOfTurn, "end" }
	for {
		switch phase {
		case "begin":
			phase = "model"
			if err := run(beforeAgent, stack); stop(err) {
				stopMessage(beforeAgent, stack)
				reason, phase = agent.Stopped, "end"
			}
		case "model":
			turns++
			last := turns >= maxTurns
			err := run(beforeModel, stack)
			if stop(err) {
				stopMessage(beforeModel, stack)
				reason, phase = agent.Stopped, "end"
				continue
			}
			if jumps(err, agent.ToolsNode) {
				if last {
					limited()
				}
				continue // there are no calls, so the model is next
			}
			var ended error
			entered := 0
			for _, p := range stack {
				if !p.has[wrapModel] {
					continue
				}
				if ended = calls.next(p, wrapModel); ended != nil {
					break
				}
				entered++
			}
			switch {
			case stop(ended):
				stopMessage(wrapModel, stack)
				reason, phase = agent.Stopped, "end"
				continue
			case ended != nil:
				if last {
					limited()
				}
				continue
			}
			reply := replies[0]
			replies = replies[1:]
			seen := len(notes)
			for _, p := range reversed {
				if p.has[wrapModel] {
					note(p, wrapModel, seen)
				}
			}
			said = append(said, reply)
			err = run(afterModel, reversed)
			calling := reply == "call"
			switch {
			case stop(err):
				if calling {
					said = append(said, "not called")
				}
				stopMessage(afterModel, reversed)
				reason, phase = agent.Stopped, "end"
			case jumps(err, agent.ModelNode):
				if calling {
					said = append(said, "not called")
				}
				if last {
					limited()
				}
			case calling && last:
				said = append(said, "not called")
				limited()
			case calling:
				phase = "tool"
			case last:
				limited()
			default:
				reason, phase = agent.Answered, "end"
			}
		case "tool":
			var ended error
			for _, p := range stack {
				if p.has[wrapTool] && ended == nil {
					ended = calls.next(p, wrapTool)
				}
			}
			if ended != nil {
				said = append(said, "not called")
				stopMessage(wrapTool, stack)
				reason, phase = agent.Stopped, "end"
				continue
			}
			seen := len(notes)
			for _, p := range reversed {
				if p.has[wrapTool] {
					note(p, wrapTool, seen)
				}
			}
			said = append(said, "result")
			phase = "model"
		case "end":
			if err := run(afterAgent, reversed); err != nil && turns < maxTurns {
				phase = "model"
				continue
			} else if err != nil {
				reason = agent.OutOfTurn
			}
			if last := said[len(said)-1]; reason == agent.OutOfTurn && last != "answer" && !strings.HasPrefix(last, "stopped") { // no reply says it
				said = append(said, fmt.Sprintf("I stopped: the limit of model calls for one request (%d) is reached.", turns))
			}
			return notes, said, reason
		}
	}
}

// Random lists of middleware behave like the sequential simulation: the same functions run in
// the same order, see the same writes, and end the run in the same way.
func TestMiddlewareRunsLikeASequentialModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var stack []*part
		for i := range r.IntN(5) {
			stack = append(stack, randomPart(r, string(rune('a'+i))))
		}
		var script []llmtest.Reply
		var replies []string
		maxTurns := 1 + r.IntN(5)
		for range 20 {
			if r.IntN(2) == 0 {
				script, replies = append(script, llmtest.Call("work", `{}`)), append(replies, "call")
			} else {
				script, replies = append(script, llmtest.Say("answer")), append(replies, "answer")
			}
		}
		notes, said, reason := expect(stack, replies, maxTurns)

		calls := tally{}
		o := agent.Options{MaxTurns: maxTurns, Channels: []state.Handle{trail}}
		for _, p := range stack {
			o.Use = append(o.Use, p.middleware(calls))
		}
		set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "result", nil }))
		snap, err := newAgent(t, llmtest.NewScript(script...), set, o).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err, "seed %d: %v", seed, stack)
		var got []string
		for _, m := range agent.Messages.All(snap) {
			switch {
			case len(m.ToolCalls) > 0:
				got = append(got, "call")
			case m.Status == llm.StatusError:
				got = append(got, "not called")
			default:
				got = append(got, m.Text())
			}
		}
		ok := assert.Equal(t, said, got, "seed %d: the conversation", seed)
		ok = assert.Equal(t, notes, trail.Get(snap), "seed %d: the trail", seed) && ok
		ok = assert.Equal(t, reason, agent.Result.Get(snap).Reason, "seed %d: the reason", seed) && ok
		require.True(t, ok, "seed %d, %d turns, %v: %v", seed, maxTurns, replies, stack)
	}
}

// TestAnAgentThatGoesOnDoesNotSayThatItStopped proves that the conversation has no text about a stop if a
// middleware jumps to the model after a reply that was cut off, and that it has one if the next reply is
// cut off too.
func TestAnAgentThatGoesOnDoesNotSayThatItStopped(t *testing.T) {
	t.Parallel()
	cut := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkEnd, StopReason: llm.StopLength}}}
	for want, replies := range map[string][]llmtest.Reply{
		"user:go | assistant:answer":                                      {cut, llmtest.Say("answer")},
		"user:go | assistant:I stopped: a token limit cut off the reply.": {cut, cut},
	} {
		jumped := false
		once := agent.Middleware{AfterAgent: func(context.Context, agent.Run) (state.Update, error) {
			if jumped {
				return nil, nil
			}
			jumped = true
			return nil, agent.Jump(agent.ModelNode)
		}}
		snap, err := newAgent(t, llmtest.NewScript(replies...), nil, agent.Options{Use: []agent.Middleware{once}}).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
		assert.Equal(t, want, roles(snap))
	}
}

// A middleware cannot return Goto or Send, and cannot jump to other nodes than the model and
// the tools.
func TestMiddlewareRejectsSignalsAndOddJumps(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]agent.Middleware{
		`middleware "m": before the model: goto tools: `: {Name: "m", BeforeModel: func(context.Context, agent.Run) (state.Update, error) {
			return state.Update{gotoTools}, nil
		}},
		`middleware "n": before the model: state: channel "trail": the graph does not have this channel; add it to Middleware.Channels`: {
			Name: "n", BeforeModel: func(context.Context, agent.Run) (state.Update, error) { return state.Update{trail.Put("x")}, nil },
		},
		`a jump to "answer" from here is not possible`: {AfterModel: func(context.Context, agent.Run, *llm.Message) (state.Update, error) {
			return nil, agent.Jump(agent.AnswerNode)
		}},
		"the run was stopped here, which has no effect": {AfterAgent: func(context.Context, agent.Run) (state.Update, error) {
			return nil, agent.Stop(llm.Message{})
		}},
	} {
		_, err := newAgent(t, llmtest.Echo{}, nil, agent.Options{Use: []agent.Middleware{m}}).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.ErrorContains(t, err, want)
	}
	set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "result", nil }))
	m := agent.Middleware{WrapTool: func(context.Context, agent.ToolCall, agent.ToolFunc) (tools.Outcome, error) {
		return tools.Outcome{}, errors.Join(agent.Jump(agent.ModelNode))
	}}
	_, err := newAgent(t, llmtest.NewScript(llmtest.Call("work", `{}`)), set, agent.Options{Use: []agent.Middleware{m}}).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorContains(t, err, `a jump to "agent" from here is not possible`)
}

var gotoTools = graph.Goto(agent.ToolsNode)
