package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

var (
	// ErrNotFound says that there is no such session, or that it is another user's.
	ErrNotFound = errors.New("account: not found")
	// ErrConfig says that the environment has to be put right.
	ErrConfig = errors.New("account: configuration")
)

// The statuses of a session. One that is active runs, or was broken off.
const (
	Active    = supacheckpoint.StatusActive
	Completed = "completed"
	Failed    = "failed"
)

// A Session is research about a proposal, in a thread.
type Session struct {
	Thread, Proposal, Status string
	LastActivity             time.Time
	About
}

// About is what a session is about.
type About struct {
	Document string `json:"documentId,omitempty"`
	Title    string `json:"title,omitempty"`
}

// A Backend is where users and what they have are kept. It is safe for concurrent use.
type Backend interface {
	// Verify returns the user of a token; it is a [supacheckpoint.ErrToken] if the
	// token is not good.
	Verify(ctx context.Context, token string) (supacheckpoint.User, error)
	// As returns what a user has.
	As(u supacheckpoint.User) (Account, error)
	// Threads keeps the threads of the server, whose ids are UUIDs. A user is found in the context,
	// by [server.ThreadOwner].
	Threads() checkpoint.Store
	// CleanUp removes sessions of all users, of these statuses or of any, that were
	// idle for so long, with their threads. It returns how many. It leaves those of the
	// server, which removes its threads itself.
	CleanUp(ctx context.Context, idle time.Duration, statuses ...string) (int, error)
	Close() error
}

// An Account is what a user has. Nothing of others is in it.
type Account interface {
	// Thread returns where a thread is kept, and its name there.
	Thread(id string) (checkpoint.Store, string)
	AddProposal(ctx context.Context) (id string, err error)
	HasProposal(ctx context.Context, id string) (bool, error)
	// DeleteProposal removes a proposal without sessions. It is no error if there is none.
	DeleteProposal(ctx context.Context, id string) error
	Session(ctx context.Context, thread string) (Session, error)
	// Sessions returns the newest sessions.
	Sessions(ctx context.Context) ([]Session, error)
	// PutSession begins a session, or sets what is known of it. Now is its last
	// activity.
	PutSession(ctx context.Context, s Session) error
	// PutStatus sets the status of a session, and not what it is about. Now is its last activity.
	PutStatus(ctx context.Context, s Session) error
	// DeleteSession removes a session and what was published of it, if there is one.
	DeleteSession(ctx context.Context, thread string) error
	// Publish shows the state of a session to programs that read no checkpoints.
	Publish(ctx context.Context, s Session, state json.RawMessage) error
}

const mostSessions = 100

func (a About) json() (json.RawMessage, error) { return json.Marshal(a) }

func about(data []byte) (a About, err error) {
	if len(data) > 0 {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

func wrap(what string, err error) error {
	if err == nil || errors.Is(err, ErrNotFound) {
		return err
	}
	return fmt.Errorf("account: %s: %w", what, err)
}
