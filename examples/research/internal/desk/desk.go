// Package desk runs sessions of research for users.
package desk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/research"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// A Desk has the parts that all requests share. It is safe for concurrent use.
type Desk struct {
	Backend   account.Backend
	Documents *document.Folder
	Reader    document.Reader
	Model     llm.Model
	// Cookie is the name of the cookie with the token.
	Cookie string
	Logger *slog.Logger
	// Tracing records the runs. Nil records nothing.
	Tracing *tracing.Tracing
}

// A Caller is a user with the user's account.
type Caller struct {
	*Desk
	account.Account
	User string
}

// User returns the user of a request, or [supacheckpoint.ErrToken] without a valid token.
func (d *Desk) User(r *http.Request) (supacheckpoint.User, error) {
	token := account.Token(r, d.Cookie)
	if token == "" {
		return supacheckpoint.User{}, supacheckpoint.ErrToken
	}
	return d.Backend.Verify(r.Context(), token)
}

// Caller returns the user of a request, with the claims of the token.
func (d *Desk) Caller(r *http.Request) (Caller, error) {
	user, err := d.User(r)
	if err != nil {
		return Caller{}, err
	}
	return d.as(user)
}

func (d *Desk) as(user supacheckpoint.User) (Caller, error) {
	a, err := d.Backend.As(user)
	return Caller{d, a, user.ID}, err
}

// of returns the user in a context of the server.
func (d *Desk) of(ctx context.Context) (Caller, error) {
	return d.as(supacheckpoint.User{ID: server.UserID(ctx)})
}

// Graph returns the graph that the server runs, for the user of each run.
func (d *Desk) Graph() (*graph.Graph, error) {
	return research.NewGraph(research.Config{
		Model: d.Model, Store: d.Backend.Threads(), Tracing: d.Tracing,
		Load: func(ctx context.Context, id string) (document.File, error) {
			return d.Documents.Load(server.UserID(ctx), id)
		},
		Current: func(ctx context.Context) (string, error) {
			_, s, err := d.current(ctx)
			if errors.Is(err, account.ErrNotFound) {
				err = nil
			}
			return s.Document, err
		},
		Ended: func(ctx context.Context, result *research.State) error {
			c, s, err := d.current(ctx)
			if err != nil {
				return err
			}
			return c.finish(ctx, s, result, nil)
		},
	})
}

// current returns the user and the session of a run of the server.
func (d *Desk) current(ctx context.Context) (Caller, account.Session, error) {
	c, err := d.of(ctx)
	if err != nil {
		return c, account.Session{}, err
	}
	run, _ := graph.FromContext(ctx)
	s, err := c.Session(ctx, run.Thread)
	return c, s, err
}

// Agent returns the agent for a thread of the caller, and the name of the thread in the agent's store.
func (c Caller) Agent(thread string) (*research.Agent, string, error) {
	store, name := c.Thread(thread)
	a, err := research.New(research.Config{Model: c.Model, Store: store, Tracing: c.Tracing, Load: c.load}, c.Logger)
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

// Attach sets the document of a thread of the server, in place of an earlier one.
func (c Caller) Attach(ctx context.Context, thread string, file document.File) error {
	s, err := c.Session(ctx, thread)
	if errors.Is(err, account.ErrNotFound) {
		s = account.Session{Thread: thread, Status: account.Active}
		s.Proposal, err = c.AddProposal(ctx)
	}
	if err != nil {
		return err
	}
	s.Document, s.Title = file.ID, file.Name
	return c.PutSession(ctx, s)
}

// Forget removes the session, the proposal and the document of a thread of the server.
func (d *Desk) Forget(ctx context.Context, thread string) error {
	c, err := d.of(ctx)
	if err != nil {
		return err
	}
	s, err := c.Session(ctx, thread)
	if errors.Is(err, account.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = c.DeleteSession(ctx, thread)
	if err == nil { // Attach made the proposal for the thread
		err = c.DeleteProposal(ctx, s.Proposal)
	}
	return errors.Join(err, d.Documents.Remove(c.User, s.Document))
}

// Run starts or resumes the run of a session, and stores the session's status.
func (c Caller) Run(ctx context.Context, s account.Session) (research.Result, error) {
	a, thread, err := c.Agent(s.Thread)
	if err != nil {
		return research.Result{}, err
	}
	var input []state.Write // none if the run resumes
	snap, err := a.Snapshot(ctx, thread)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // also if the program was killed before the first checkpoint
		input = append(input, research.Initial(s.Document))
	case err != nil:
		return research.Result{}, err
	case research.RFPDocument.Get(snap).ID != s.Document:
		input = append(input, research.Initial(s.Document))
	}
	if s.Status != account.Active {
		s.Status = account.Active
		if err := c.PutStatus(ctx, s); err != nil {
			return research.Result{}, err
		}
	}
	result := a.Run(ctx, thread, input...)
	return result, errors.Join(result.Err(), c.finish(ctx, s, result.State, result.Err()))
}

// finish stores the state and the status of a session after a run. It changes nothing if the run was cancelled, or
// could not start because another run holds the thread.
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
	return c.PutStatus(ctx, s) // another document may be attached by now
}
