// Package desk runs sessions of research for those who ask by HTTP.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/research"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A Desk is what all requests share. It is safe for concurrent use.
type Desk struct {
	Backend   account.Backend
	Documents *document.Folder
	Reader    document.Reader
	Model     llm.Model
	// Cookie is the name of the one that has a token.
	Cookie string
	Logger *slog.Logger
}

// A Caller is who asks, with what is theirs.
type Caller struct {
	*Desk
	account.Account
	User string
}

// Caller finds out who asks. It is a 401 if nobody does.
func (d *Desk) Caller(r *http.Request) (Caller, error) {
	unauthorized := web.Refuse(http.StatusUnauthorized, "Unauthorized")
	token := account.Token(r, d.Cookie)
	if token == "" {
		return Caller{}, unauthorized
	}
	user, err := d.Backend.Verify(r.Context(), token)
	if errors.Is(err, supacheckpoint.ErrToken) {
		return Caller{}, unauthorized
	}
	if err != nil {
		return Caller{}, err
	}
	a, err := d.Backend.As(user)
	return Caller{d, a, user.ID}, err
}

// Agent returns the agent of a thread of the caller, and the name of the thread for it.
func (c Caller) Agent(thread string) (*research.Agent, string, error) {
	store, name := c.Thread(thread)
	a, err := research.New(research.Config{Model: c.Model, Store: store, Load: c.load}, c.Logger)
	return a, name, err
}

func (c Caller) load(_ context.Context, id string) (document.File, error) {
	return c.Documents.Load(c.User, id)
}

// NewSession begins a session about a proposal.
func (c Caller) NewSession(ctx context.Context, proposal string, about account.About) (account.Session, error) {
	s := account.Session{
		Thread: supacheckpoint.ProposalThreadID(proposal, ""), Proposal: proposal,
		Status: account.Active, About: about, LastActivity: time.Now(),
	}
	return s, c.PutSession(ctx, s)
}

// A Turn is a run of a session.
type Turn struct {
	account.Session
	// Message asks something. Without one the session goes on where it is.
	Message string
	// Events asks for what happens as it does, and not for the state at the end.
	Events bool
	// Started says that the session is new.
	Started bool
}

// Run runs a session and answers the request.
func (c Caller) Run(w http.ResponseWriter, r *http.Request, t Turn) error {
	a, thread, err := c.Agent(t.Thread)
	if err != nil {
		return err
	}
	input, err := c.input(r.Context(), a, thread, t)
	if err != nil {
		return err
	}
	if t.Status != account.Active {
		t.Status = account.Active
		if err := c.PutSession(r.Context(), t.Session); err != nil {
			return err
		}
	}
	if t.Events {
		events := c.finishing(r.Context(), t.Session, a.Stream(r.Context(), thread, input...))
		return web.Send(w, r, web.Chunks(agent.Chunks(events)))
	}
	result := a.Run(r.Context(), thread, input...)
	if err := errors.Join(result.Err(), c.finish(r.Context(), t.Session, result.State, result.Err())); err != nil {
		return err
	}
	if t.Started {
		result.ThreadID = t.Thread
	}
	return web.Write(w, http.StatusOK, result)
}

// input is what a run begins with: nothing, where it goes on.
func (c Caller) input(ctx context.Context, a *research.Agent, thread string, t Turn) ([]state.Write, error) {
	var input []state.Write
	snap, err := a.Snapshot(ctx, thread)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // also when the program was killed before the first one
		input = append(input, research.Initial(t.Document))
	case err != nil:
		return nil, err
	case t.Message != "" && !snap.Done():
		return nil, web.Refuse(http.StatusConflict, "The last run is not finished. Go on with it first.")
	case research.RFPDocument.Get(snap).ID != t.Document:
		input = append(input, research.Initial(t.Document))
	}
	if t.Message != "" {
		input = append(input, research.Messages.Put(llm.User(t.Message)))
	}
	return input, nil
}

// finishing passes events on, and notes how the run ended before the last of them.
func (c Caller) finishing(ctx context.Context, s account.Session, events iter.Seq2[graph.Event, error]) iter.Seq2[graph.Event, error] {
	return func(yield func(graph.Event, error) bool) {
		for event, err := range events {
			if end, ok := event.(graph.RunEnded); ok && end.Snapshot != nil {
				result, problem := research.StateOf(end.Snapshot)
				err = errors.Join(problem, c.finish(ctx, s, result, problem))
			} else if err != nil {
				err = errors.Join(err, c.finish(ctx, s, nil, err))
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// finish notes how a run ended. One that was broken off, or did not begin as another
// has the thread, leaves the session as it is.
func (c Caller) finish(ctx context.Context, s account.Session, result *research.State, err error) error {
	if ctx.Err() != nil || errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	s.Status = account.Failed
	if err == nil {
		data, problem := json.Marshal(result)
		if problem != nil {
			return fmt.Errorf("state: %w", problem)
		}
		if err := c.Publish(ctx, s, data); err != nil {
			return err
		}
		if result.Status.SolutionSought {
			s.Status = account.Completed
		}
	}
	return c.PutSession(ctx, s)
}
