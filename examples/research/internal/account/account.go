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
	// ErrNotFound is returned for a session that does not exist or belongs to another user.
	ErrNotFound = errors.New("account: not found")
	// ErrConfig is returned for an invalid configuration in the environment.
	ErrConfig = errors.New("account: configuration")
)

// The statuses of a session. An active session runs, or its run did not finish.
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

// About names the document of a session.
type About struct {
	Document string `json:"documentId,omitempty"`
	Title    string `json:"title,omitempty"`
}

// A Backend keeps users and their data. It is safe for concurrent use.
type Backend interface {
	// Verify returns the user of a token, or [supacheckpoint.ErrToken] if the token is invalid.
	Verify(ctx context.Context, token string) (supacheckpoint.User, error)
	// As returns the account of a user.
	As(u supacheckpoint.User) (Account, error)
	// Threads returns the store of the server's threads, whose ids are UUIDs. A store that needs the user finds it
	// in the context, by [server.ThreadOwner].
	Threads() checkpoint.Store
	// CleanUp removes sessions of all users that were idle for so long, with their threads, and returns their
	// number. Without statuses, it removes sessions of any status. It keeps the sessions of the server, which
	// removes its threads itself.
	CleanUp(ctx context.Context, idle time.Duration, statuses ...string) (int, error)
	Close() error
}

// An Account is the data of one user. It has no data of other users.
type Account interface {
	// Thread returns the store of a thread, and the name of the thread in that store.
	Thread(id string) (checkpoint.Store, string)
	AddProposal(ctx context.Context) (id string, err error)
	HasProposal(ctx context.Context, id string) (bool, error)
	// DeleteProposal removes a proposal without sessions. It is no error if there is none.
	DeleteProposal(ctx context.Context, id string) error
	Session(ctx context.Context, thread string) (Session, error)
	// Sessions returns the newest sessions.
	Sessions(ctx context.Context) ([]Session, error)
	// PutSession creates or updates a session, and sets its last activity to now.
	PutSession(ctx context.Context, s Session) error
	// PutStatus sets the status of a session but not About, and sets its last activity to now.
	PutStatus(ctx context.Context, s Session) error
	// DeleteSession removes a session and its published state, if there is one.
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
