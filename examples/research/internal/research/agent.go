package research

import (
	"context"
	"log/slog"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// An Agent runs the graph for one user. It is safe for concurrent use.
type Agent struct {
	graph  *graph.Graph
	logger *slog.Logger
}

// New returns an agent. The logger may be nil.
func New(c Config, logger *slog.Logger) (*Agent, error) {
	g, err := NewGraph(c)
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Agent{g, logger}, nil
}

// A Result is the result of a run: the state or an error.
type Result struct {
	Success bool   `json:"success"`
	State   *State `json:"state,omitempty"`
	// Error is for the program that runs the agent, and not for its users.
	Error string `json:"error,omitempty"`
	// ThreadID is the thread of a session that the request has begun.
	ThreadID string `json:"threadId,omitempty"`
	err      error
}

// Err returns the error of the run, or nil.
func (r Result) Err() error { return r.err }

// Initial returns the input of a run about a document.
func Initial(documentID string) state.Write {
	return RFPDocument.Put(Document{ID: documentID, Metadata: map[string]string{}})
}

// Invoke researches a document. With an empty thread it stores nothing.
func (a *Agent) Invoke(ctx context.Context, documentID, thread string) Result {
	if thread == "" {
		snap, err := a.graph.Invoke(ctx, Initial(documentID))
		return a.result(ctx, snap, err)
	}
	return a.Run(ctx, thread, Initial(documentID))
}

// Continue resumes a thread. A thread that has ended does not change.
func (a *Agent) Continue(ctx context.Context, thread string) Result { return a.Run(ctx, thread) }

// Run runs a thread with an input, or resumes it without one.
func (a *Agent) Run(ctx context.Context, thread string, writes ...state.Write) Result {
	snap, err := a.graph.Thread(thread).Invoke(ctx, writes...)
	return a.result(ctx, snap, err)
}

// Graph returns the graph.
func (a *Agent) Graph() *graph.Graph { return a.graph }

// Snapshot returns the snapshot of a thread, or [checkpoint.ErrNotFound].
func (a *Agent) Snapshot(ctx context.Context, thread string) (*graph.Snapshot, error) {
	return a.graph.Thread(thread).Snapshot(ctx)
}

func (a *Agent) result(ctx context.Context, snap *graph.Snapshot, err error) Result {
	var s *State
	if err == nil {
		s, err = StateOf(snap)
	}
	if err != nil {
		a.logger.ErrorContext(ctx, "research failed", "error", err)
		return Result{Error: err.Error(), err: err}
	}
	return Result{Success: true, State: s}
}
