package guides_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

var _ = []any{newAgent, audit, shorten, approvals, answerApproval, decideByProgram, bindings, structured, chunks, subAgents, supervisor, swarm}

func newAgent() error {
	// docs:begin new
	a, err := agent.New("helper", model, set, agent.Options{
		System: "You help with travel plans.",
		Graph:  graph.Options{Checkpoints: store},
	})
	if err != nil {
		return err
	}
	snap, err := a.Thread("user-42").Invoke(ctx, agent.Messages.Put(llm.User("hello")))
	if err != nil {
		return err
	}
	answer, _ := agent.Messages.Last(snap)
	// docs:end
	use(answer)
	return nil
}

func audit() error {
	// docs:begin audit
	audit := agent.Middleware{
		Name:     "audit",
		Channels: []state.Handle{Notes},
		Prompt: func(_ context.Context, r agent.Run) (string, error) {
			return fmt.Sprintf("The user is %s.", User.Get(r.State)), nil
		},
		WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			if c.Turn > 3 {
				c.Model = stronger
			}
			return next(ctx, c)
		},
		AfterModel: func(_ context.Context, _ agent.Run, reply *llm.Message) (state.Update, error) {
			return state.Update{Notes.Put(reply.Text())}, nil
		},
	}
	bot, err := agent.New("helper", model, set, agent.Options{Use: []agent.Middleware{audit}})
	// docs:end
	use(bot)
	return err
}

func shorten() agent.Middleware {
	// docs:begin shorten
	m := middleware.Shorten(middleware.History{Pruning: llm.Pruning{MaxTokens: 8000}, Summarise: llm.SummariseWith(small)})
	// docs:end
	return m
}

func approvals() agent.Options {
	return agent.Options{
		// docs:begin approval
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive().Or(tools.Named("submit_*"))}},
		// docs:end
	}
}

func answerApproval() error {
	// docs:begin answer-approval
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return err
	}
	q := open[0].Prompt // the tool, and exactly the arguments that it will run with
	snap, err = thread.Invoke(ctx, agent.Approval.Answer(open[0].ID, q.Approve()))
	// or q.Reject("too many"), or q.Edit(json.RawMessage(`{"cups":2}`))
	// docs:end
	return err
}

func decideByProgram() error {
	snap, err := thread.Snapshot(ctx)
	if err != nil {
		return err
	}
	open, err := agent.Approval.Open(snap)
	if err != nil {
		return err
	}
	// docs:begin by
	no := open[0].Prompt.Reject("nobody answered in time")
	no.By = "the deadline" // the result is "the deadline rejected this call: nobody answered in time"
	snap, err = thread.Invoke(ctx, agent.Approval.Answer(open[0].ID, no))
	// docs:end
	use(snap)
	return err
}

func bindings() agent.Options {
	return agent.Options{
		// docs:begin bindings
		Tools: tools.Options{Bind: tools.Bindings{
			tools.Bind(func(_ context.Context, s state.View) (TenantID, error) { return TenantID(Tenant.Get(s)), nil }),
			tools.Bind(func(ctx context.Context, _ state.View) (ThreadID, error) {
				r, _ := graph.FromContext(ctx)
				return ThreadID(r.Thread), nil
			}),
		}},
		// docs:end
	}
}

type Verdict struct{ Good bool }

func structured() error {
	// docs:begin structured
	a, err := agent.New("judge", model, set, agent.Options{Answer: agent.Structured[Verdict]()})
	if err != nil {
		return err
	}
	snap, err := a.Invoke(ctx, agent.Messages.Put(llm.User("Is it good?")))
	if err != nil {
		return err
	}
	verdict, err := agent.Answer[Verdict](snap) // agent.ErrNoAnswer, with the reason, if there is none
	// docs:end
	use(verdict)
	return err
}

func chunks() error {
	// docs:begin chunks
	for chunk, err := range agent.Chunks(thread.Stream(ctx, agent.Messages.Put(llm.User("hi")))) {
		if err != nil {
			return err
		}
		switch chunk.Kind {
		case agent.ChunkText: // chunk.Text
		case agent.ChunkToolFinished: // chunk.Call, chunk.Answer
		case agent.ChunkApproval: // chunk.Prompt, chunk.Question, chunk.Pause.ID
		case agent.ChunkEnd: // chunk.Snapshot
		}
	}
	// docs:end
	return nil
}

func subAgents(search *tools.Set) error {
	// docs:begin as-tool
	researcher, err := agent.New("researcher", model, search, agent.Options{System: "You look things up."})
	if err != nil {
		return err
	}
	boss, err := agent.New("boss", model, set, agent.Options{Use: []agent.Middleware{
		agent.AsTool(agent.SubAgent{Agent: researcher, Description: "It looks things up."}),
	}})
	// docs:end
	use(boss)
	return err
}

func supervisor(writer, clerk *graph.Graph) error {
	// docs:begin supervisor
	team := []agent.Member{
		{Agent: writer, Description: "It writes letters.", Messages: WriterMessages},
		{Agent: clerk, Description: "It sends letters.", Messages: ClerkMessages},
	}
	boss, err := agent.Supervisor("boss", model, set, team, agent.Options{System: "You run an office."})
	// docs:end
	use(boss)
	return err
}

func swarm(math *tools.Set) error {
	// docs:begin swarm
	alice, err := agent.New("alice", model, math, agent.Options{Use: []agent.Middleware{agent.Handoff("bob", "Bob is a pirate.")}})
	if err != nil {
		return err
	}
	bob, err := agent.New("bob", model, nil, agent.Options{Use: []agent.Middleware{agent.Handoff("alice", "Alice can add.")}})
	if err != nil {
		return err
	}
	swarm, err := agent.Swarm("swarm", []*graph.Graph{alice, bob}, agent.SwarmOptions{Graph: graph.Options{Checkpoints: store}})
	// docs:end
	use(swarm)
	return err
}
