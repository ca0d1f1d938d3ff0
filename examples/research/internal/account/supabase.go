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
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// Supabase keeps everything in a project. What is done for a user is done with the
// user's role and claims, under the policies of the tables.
type Supabase struct {
	*supacheckpoint.Store
	pool *pgxpool.Pool // for tables of the project's own
	all  *supacheckpoint.Proposals
}

var _ Backend = (*Supabase)(nil)

// The environment: that of [supacheckpoint.FromEnv], and what the project's front end
// has already.
const (
	envURL       = "SUPABASE_URL"
	envPublicURL = "NEXT_PUBLIC_SUPABASE_URL"
	envPublicKey = "NEXT_PUBLIC_SUPABASE_ANON_KEY"
	envDatabase  = "SUPABASE_DB_URL"
)

// Project returns the address of the project that the environment names, or "".
func Project() string { return cmp.Or(os.Getenv(envURL), os.Getenv(envPublicURL)) }

// Configured reports whether the environment names a project.
func Configured() bool { return Project() != "" || os.Getenv(envDatabase) != "" }

// OpenSupabase opens the project that the environment names. With migrated set it
// changes no tables.
func OpenSupabase(ctx context.Context, migrated bool, logger *slog.Logger) (*Supabase, error) {
	verifier, err := verifier()
	if err != nil {
		return nil, err
	}
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{
		Verifier: verifier, Migrated: migrated, Logger: logger, Checkpoint: pgcheckpoint.Options{LeaseTime: leaseTime},
	})
	if err != nil {
		return nil, err
	}
	s := &Supabase{Store: store}
	if err := s.prepare(ctx, migrated); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func verifier() (*supacheckpoint.Verifier, error) {
	project, secret := Project(), []byte(os.Getenv("SUPABASE_JWT_SECRET"))
	if project == "" {
		return nil, fmt.Errorf("%w: neither %s nor %s is set, and so nobody's token can be checked", ErrConfig, envURL, envPublicURL)
	}
	if key := os.Getenv(envPublicKey); key != "" {
		err := supacheckpoint.CheckServiceKey(key, project, secret)
		if err == nil {
			return nil, fmt.Errorf("%w: %s has the service role's key, which is a secret and must not reach a browser", ErrConfig, envPublicKey)
		}
		if !errors.Is(err, supacheckpoint.ErrAnonKey) {
			return nil, fmt.Errorf("%s: %w", envPublicKey, err)
		}
	}
	return supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{URL: project, Secret: secret, JWKS: os.Getenv("SUPABASE_JWKS_URL")})
}

func (s *Supabase) prepare(ctx context.Context, migrated bool) error {
	config, err := pgcheckpoint.PoolConfig(cmp.Or(os.Getenv(envDatabase), os.Getenv("DATABASE_URL")), pgcheckpoint.Detect)
	if err != nil {
		return err
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	if !migrated {
		if err := supacheckpoint.MigrateDocuments(ctx, s.pool); err != nil {
			return err
		}
	}
	s.all, err = s.Proposals(supacheckpoint.ProposalOptions{})
	return err
}

// Close closes the connections.
func (s *Supabase) Close() error {
	if s.pool != nil {
		s.pool.Close()
	}
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
	return supaAccount{s, mine, u}, nil
}

// threads are those of this program: [supacheckpoint.ProposalThreadID] begins so.
const threads = "research_"

// CleanUp implements [Backend]: threads, then what is told of them to others.
func (s *Supabase) CleanUp(ctx context.Context, idle time.Duration, statuses ...string) (int, error) {
	q := supacheckpoint.SessionQuery{AllUsers: true, Prefix: threads, IdleFor: idle, Statuses: statuses}
	if _, err := s.Store.CleanUp(ctx, q); err != nil {
		return 0, err
	}
	return s.all.CleanUp(ctx, q)
}

type supaAccount struct {
	project *Supabase
	mine    *supacheckpoint.Store
	user    supacheckpoint.User
}

func (a supaAccount) Thread(id string) (checkpoint.Store, string) { return a.mine, id }

// become takes on the role and the claims of the user until the transaction ends.
const become = `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1::text, true)`

// ask runs a statement of the program's own, as the user.
func (a supaAccount) ask(ctx context.Context, sql string, args []any, into ...any) error {
	return pgx.BeginFunc(ctx, a.project.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, become, string(a.user.Claims)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sql, args...).Scan(into...)
	})
}

func (a supaAccount) AddProposal(ctx context.Context) (id string, err error) {
	err = a.ask(ctx, `INSERT INTO public.proposals (user_id) VALUES ($1::text::uuid) RETURNING id::text`, []any{a.user.ID}, &id)
	return id, wrap("proposal", err)
}

func (a supaAccount) HasProposal(ctx context.Context, id string) (has bool, err error) {
	err = a.ask(ctx, `SELECT EXISTS (SELECT FROM public.proposals WHERE id = $1::text::uuid AND user_id = $2::text::uuid)`,
		[]any{id, a.user.ID}, &has)
	return has, wrap("proposal", err)
}

func (a supaAccount) Session(ctx context.Context, thread string) (Session, error) {
	s := Session{Thread: thread}
	var metadata []byte
	err := a.ask(ctx, `SELECT proposal_id::text, status, last_activity, metadata FROM public.proposal_sessions
		WHERE thread_id = $1::text AND user_id = $2::text::uuid`, []any{thread, a.user.ID},
		&s.Proposal, &s.Status, &s.LastActivity, &metadata)
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, ErrNotFound
	}
	if err == nil {
		s.About, err = about(metadata)
	}
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
		s := Session{Thread: found.Thread, Status: found.Status, LastActivity: found.LastActivity}
		if s.About, err = about(found.Metadata); err != nil {
			return nil, wrap("sessions", err)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(x, y Session) int { return y.LastActivity.Compare(x.LastActivity) })
	return all[:min(len(all), mostSessions)], nil
}

// documents are the rows that other programs read.
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
	documents, err := a.documents(s.Proposal)
	if err != nil {
		return err
	}
	u := supacheckpoint.SessionUpdate{Status: cmp.Or(s.Status, Active), Metadata: metadata}
	if err := documents.PutSession(ctx, s.Thread, u); err != nil {
		return err
	}
	return a.mine.PutSession(ctx, s.Thread, u)
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
