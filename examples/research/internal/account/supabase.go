package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// Supabase keeps everything in a Supabase project. A call for a user has the user's role and claims, under the
// policies of the tables.
type Supabase struct {
	*supacheckpoint.Store
	all *supacheckpoint.Proposals
}

var _ Backend = (*Supabase)(nil)

// Variables of the environment: some of [supacheckpoint.FromEnv], and the variables that the project's front end
// has already.
const (
	envURL       = "SUPABASE_URL"
	envPublicURL = "NEXT_PUBLIC_SUPABASE_URL"
	envPublicKey = "NEXT_PUBLIC_SUPABASE_ANON_KEY"
	envDatabase  = "SUPABASE_DB_URL"
	envSecret    = "SUPABASE_JWT_SECRET"
)

// Project returns the address of the project that the environment names, or "".
func Project() string { return cmp.Or(os.Getenv(envURL), os.Getenv(envPublicURL)) }

// Configured reports whether the environment names a project.
func Configured() bool { return Project() != "" || os.Getenv(envDatabase) != "" }

// OpenSupabase opens the project that the environment names. With migrated set it
// changes no tables.
func OpenSupabase(ctx context.Context, migrated bool, logger *slog.Logger) (*Supabase, error) {
	if err := checkFrontEnd(); err != nil {
		return nil, err
	}
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{
		Migrated: migrated, Documents: true, Logger: logger, Checkpoint: pgcheckpoint.Options{LeaseTime: leaseTime},
	})
	if err != nil {
		return nil, err
	}
	all, err := store.Proposals(supacheckpoint.ProposalOptions{})
	if err != nil {
		store.Close()
		return nil, err
	}
	return &Supabase{store, all}, nil
}

// checkFrontEnd checks the variables of the front end: they name a project, and have no secret.
func checkFrontEnd() error {
	if Project() == "" {
		return fmt.Errorf("%w: neither %s nor %s is set, and so nobody's token can be checked", ErrConfig, envURL, envPublicURL)
	}
	key := os.Getenv(envPublicKey)
	if key == "" {
		return nil
	}
	switch err := supacheckpoint.CheckServiceKey(key, Project(), []byte(os.Getenv(envSecret))); {
	case err == nil:
		return fmt.Errorf("%w: %s has the service role's key, which is a secret and must not reach a browser", ErrConfig, envPublicKey)
	case !errors.Is(err, supacheckpoint.ErrAnonKey):
		return fmt.Errorf("%s: %w", envPublicKey, err)
	}
	return nil
}

// Close closes the connections.
func (s *Supabase) Close() error {
	s.Store.Close()
	return nil
}

// Verify implements [Backend].
func (s *Supabase) Verify(ctx context.Context, token string) (supacheckpoint.User, error) {
	return s.VerifyJWT(ctx, token)
}

// As implements [Backend].
func (s *Supabase) As(u supacheckpoint.User) (Account, error) {
	mine, err := s.Store.As(u)
	if err != nil {
		return nil, err
	}
	return supaAccount{mine}, nil
}

// Threads implements [Backend].
func (s *Supabase) Threads() checkpoint.Store { return byUser{s.Store} }

// threads is the prefix of this program's threads, which [supacheckpoint.ProposalThreadID] gives them.
const threads = "research_"

// CleanUp implements [Backend]. It removes the threads, and then the rows that other programs read.
func (s *Supabase) CleanUp(ctx context.Context, idle time.Duration, statuses ...string) (int, error) {
	q := supacheckpoint.SessionQuery{AllUsers: true, Prefix: threads, IdleFor: idle, Statuses: statuses}
	if _, err := s.Store.CleanUp(ctx, q); err != nil {
		return 0, err
	}
	return s.all.CleanUp(ctx, q)
}

// A supaAccount has the rights of its user, so the policies hide the data of other users.
type supaAccount struct{ mine *supacheckpoint.Store }

func (a supaAccount) Thread(id string) (checkpoint.Store, string) { return a.mine, id }

// ask runs a statement with the rights of the user, and scans its row.
func (a supaAccount) ask(ctx context.Context, sql string, args []any, into ...any) error {
	return a.mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, sql, args...).Scan(into...) })
}

func (a supaAccount) AddProposal(ctx context.Context) (id string, err error) {
	err = a.ask(ctx, `INSERT INTO public.proposals (user_id) VALUES (auth.uid()) RETURNING id::text`, nil, &id)
	return id, wrap("proposal", err)
}

func (a supaAccount) HasProposal(ctx context.Context, id string) (has bool, err error) {
	err = a.ask(ctx, `SELECT EXISTS (SELECT FROM public.proposals WHERE id = $1::text::uuid AND user_id = auth.uid())`, []any{id}, &has)
	return has, wrap("proposal", err)
}

func (a supaAccount) DeleteProposal(ctx context.Context, id string) error {
	return wrap("proposal", a.mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM public.proposals WHERE id = $1::text::uuid AND user_id = auth.uid()
			AND NOT EXISTS (SELECT FROM public.proposal_sessions WHERE proposal_id = $1::text::uuid)`, id)
		return err
	}))
}

func (a supaAccount) Session(ctx context.Context, thread string) (Session, error) {
	documents, err := a.documents("")
	if err != nil {
		return Session{}, err
	}
	found, err := documents.Session(ctx, thread)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return Session{}, ErrNotFound
	}
	if err != nil {
		return Session{}, err
	}
	return sessionOf(found)
}

func sessionOf(found supacheckpoint.Session) (Session, error) {
	s := Session{Thread: found.Thread, Proposal: found.Proposal, Status: found.Status, LastActivity: found.LastActivity}
	var err error
	s.About, err = about(found.Metadata)
	return s, wrap("session", err)
}

func (a supaAccount) Sessions(ctx context.Context) ([]Session, error) {
	documents, err := a.documents("")
	if err != nil {
		return nil, err
	}
	var all []Session
	for found, err := range documents.Sessions(ctx, supacheckpoint.SessionQuery{Prefix: threads}) {
		if err != nil {
			return nil, err
		}
		s, err := sessionOf(found)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(x, y Session) int { return y.LastActivity.Compare(x.LastActivity) })
	return all[:min(len(all), mostSessions)], nil
}

// documents returns the rows that other programs read.
func (a supaAccount) documents(proposal string) (*supacheckpoint.Proposals, error) {
	return a.mine.Proposals(supacheckpoint.ProposalOptions{
		Proposal: func(context.Context, string) (string, error) { return proposal, nil },
	})
}

func (a supaAccount) PutSession(ctx context.Context, s Session) error {
	metadata, err := s.json()
	if err != nil {
		return wrap("session", err)
	}
	return a.put(ctx, s, supacheckpoint.SessionUpdate{Status: cmp.Or(s.Status, Active), Metadata: metadata})
}

func (a supaAccount) PutStatus(ctx context.Context, s Session) error {
	return a.put(ctx, s, supacheckpoint.SessionUpdate{Status: cmp.Or(s.Status, Active)})
}

func (a supaAccount) put(ctx context.Context, s Session, u supacheckpoint.SessionUpdate) error {
	documents, err := a.documents(s.Proposal)
	if err != nil {
		return err
	}
	if err := documents.PutSession(ctx, s.Thread, u); err != nil {
		return err
	}
	return a.mine.PutSession(ctx, s.Thread, u)
}

func (a supaAccount) DeleteSession(ctx context.Context, thread string) error {
	q := supacheckpoint.SessionQuery{Prefix: thread, IdleFor: time.Nanosecond}
	documents, err := a.documents("")
	if err == nil {
		_, err = documents.CleanUp(ctx, q)
	}
	if err == nil {
		_, err = a.mine.CleanUp(ctx, q)
	}
	return wrap("session", err)
}

func (a supaAccount) Publish(ctx context.Context, s Session, state json.RawMessage) error {
	documents, err := a.documents(s.Proposal)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"thread_id": s.Thread, "config": struct{}{}, "state": state})
	if err != nil {
		return wrap("publish", err)
	}
	return documents.Put(ctx, s.Thread, data)
}
