package kai

import (
	"context"

	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// A Reason says why a turn ended, or why it has not.
type Reason string

// The reasons.
const (
	Answered  Reason = "answered"       // the agent gave its final answer
	Exhausted Reason = "max_iterations" // the last reply within the limit still called tools
	Waiting   Reason = "approval"       // calls wait for a person
	Broken    Reason = "unfinished"     // the turn still runs, or can be resumed
)

// A Result is the result of a turn.
type Result struct {
	Agent          string              `json:"agentId"`
	ConversationID string              `json:"conversationId"`
	ThreadID       string              `json:"threadId"`
	Response       *string             `json:"response"`
	Reason         Reason              `json:"reason"`
	Products       []catalogue.Product `json:"products"`
	GenerationJob  *Job                `json:"generationJob"`
	Waits          []Wait              `json:"waits"`
	Iterations     int                 `json:"iterations"`
	InputTokens    int64               `json:"inputTokens"`
	OutputTokens   int64               `json:"outputTokens"`
	TotalTokens    int64               `json:"totalTokens"`
	Turns          int                 `json:"turnCount"`
}

// A Wait is an open question. [Platform.Answer] needs its ID.
type Wait struct {
	ID       string         `json:"id"`
	Question tools.Question `json:"question"`
}

func (p *Platform) result(t Turn, s *graph.Snapshot) *Result {
	r := &Result{
		Agent: t.Agent, ConversationID: t.Conversation, ThreadID: t.thread(), Response: FinalResponse.Get(s),
		Products: list(CollectedProducts.Get(s)), GenerationJob: GenerationJob.Get(s), Waits: []Wait{},
		Iterations: Iteration.Get(s), InputTokens: InputTokens.Get(s), OutputTokens: OutputTokens.Get(s), Turns: TurnCount.Get(s),
	}
	r.TotalTokens = r.InputTokens + r.OutputTokens
	open, err := agent.Approval.Open(s)
	if err != nil {
		p.Logger.Warn("a question can not be read", "thread", r.ThreadID, "error", err)
	}
	for _, q := range open {
		r.Waits = append(r.Waits, Wait{q.ID, q.Prompt})
	}
	switch {
	case len(s.Pauses) > 0:
		r.Reason = Waiting
	case !s.Done():
		r.Reason = Broken
	case r.Response == nil:
		r.Reason = Exhausted
	default:
		r.Reason = Answered
	}
	return r
}

// Snapshot returns the snapshot of a conversation's thread, or [checkpoint.ErrNotFound].
func (p *Platform) Snapshot(ctx context.Context, t Turn) (*graph.Snapshot, error) {
	g, err := p.Graph(t.Agent)
	if err != nil {
		return nil, err
	}
	return g.Thread(t.thread()).Snapshot(ctx)
}

// Look returns the result of the last turn of a conversation, or [checkpoint.ErrNotFound].
func (p *Platform) Look(ctx context.Context, t Turn) (*Result, error) {
	snap, err := p.Snapshot(ctx, t)
	if err != nil {
		return nil, err
	}
	return p.result(t, snap), nil
}

// Forget removes a conversation with its thread and its document. Quotes, orders, scenes and facts stay.
func (p *Platform) Forget(ctx context.Context, t Turn) error {
	g, err := p.Graph(t.Agent)
	if err != nil {
		return err
	}
	if err := g.Thread(t.thread()).Delete(ctx); err != nil {
		return err
	}
	if p.Documents != nil {
		if err := p.Documents.Delete(ctx, t.thread()); err != nil {
			return err
		}
	}
	return p.Studio.End(ctx, t.User, t.Conversation)
}

// Orders returns the orders of a user, the newest first.
func (p *Platform) Orders(ctx context.Context, user string) ([]Order, error) {
	return studio.List[Order](ctx, p.Studio, user, orderKind)
}

// Scene returns a scene of a user, or [studio.ErrNotFound].
func (p *Platform) Scene(ctx context.Context, user, id string) (Scene, error) {
	return studio.Get[Scene](ctx, p.Studio, user, sceneKind, id)
}
