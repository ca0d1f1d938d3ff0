package supacheckpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// Store is a [checkpoint.Store] in a Supabase project, for one user or for the
// service. It implements every optional interface of package checkpoint and has
// sessions. It is safe for concurrent use.
type Store struct {
	*pgcheckpoint.Store
	link    link
	tenant  string // the user, or empty
	options Options
	owned   bool // Close closes the pool
}

var serviceBound = bound{role: roleService, claims: `{"role":"` + roleService + `"}`}

// New returns a store with the rights of the service role. The caller closes the pool.
// With a transaction pooler, connections must not cache statements: use
// pgcheckpoint.PoolConfig. The login role must be a member of service_role and
// authenticated; postgres and authenticator are. New returns [ErrNotMigrated] if migrations
// are missing.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	s, err := newStore(ctx, pool, o)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: new: %w", err)
	}
	return s, nil
}

func newStore(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	if pool == nil {
		return nil, fmt.Errorf("no pool: %w", checkpoint.ErrInvalid)
	}
	if o.Checkpoint.Tenant != "" || o.Checkpoint.Before != nil {
		return nil, fmt.Errorf("Checkpoint.Tenant and Checkpoint.Before are set by this package: %w", checkpoint.ErrInvalid)
	}
	s := &Store{options: o, link: newLink(pool, &o)}
	s.link.as = serviceBound
	o.Checkpoint.Before = s.link.before
	var err error
	if s.Store, err = pgcheckpoint.New(ctx, pool, o.Checkpoint); err == nil {
		err = s.checkMigrated(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" {
		// The tables of pgcheckpoint exist, but the migration with the grants is missing.
		err = fmt.Errorf("%w: %w", ErrNotMigrated, err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open connects to the database of a project and returns a store with its own pool. It
// migrates the database unless [Options.Migrated] is set. The caller closes the store. See
// [New] for the rights.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	s, err := open(ctx, address, o)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := pgcheckpoint.PoolConfig(address, o.Checkpoint.Pooling)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if !o.Migrated {
		err = migrate(ctx, pool, o)
	}
	var s *Store
	if err == nil {
		s, err = newStore(ctx, pool, o)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// Close waits for running calls and closes the pool of a store from [Open] or
// [FromEnv]. It does nothing on other stores.
func (s *Store) Close() {
	if s.owned {
		s.link.pool.Close()
	}
}

// As returns a store for a user, on the same pool. Its statements run with the user's role and
// claims, so the policies of the database apply. As is cheap: call it for each request. It
// returns [checkpoint.ErrInvalid] if the user's ID is not a UUID, if the role is not
// "authenticated", or if the claims have another user or role.
func (s *Store) As(u User) (*Store, error) {
	as, err := u.bind()
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: as: %w", err)
	}
	return s.with(as, as.id)
}

// For returns a store for the threads of a user with the rights of the service role, for
// background work without a token. It has no access to the threads of other users.
func (s *Store) For(userID string) (*Store, error) {
	id, err := canonicalUUID(userID)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: for: user id %.60q: %w", userID, err)
	}
	if s.link.as.role != roleService {
		return nil, fmt.Errorf("supacheckpoint: for: a store of a user cannot work for a user; call For on the store of the service: %w", ErrRole)
	}
	return s.with(serviceBound, id)
}

// Rights returns a function that queues a statement with the role and claims of the store.
// Later statements of the batch run with the rights of the user or the service. The function is
// for other stores in the same project, such as pgmemory.Bind. For your own transactions, use
// [Store.Do].
func (s *Store) Rights() func(ctx context.Context, b *pgx.Batch) error { return s.link.before }

func (s *Store) with(as bound, tenant string) (*Store, error) {
	n := &Store{link: s.link, tenant: tenant, options: s.options}
	n.link.as = as
	var err error
	if n.Store, err = pgcheckpoint.Bind(s.Store, tenant, n.link.before); err != nil {
		return nil, fmt.Errorf("supacheckpoint: bind: %w", err)
	}
	return n, nil
}

// query sends a statement in the store's schema and classifies its error.
func (s *Store) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	return s.queryWithin(ctx, defaultTimeout, sql, args, read)
}

func (s *Store) queryWithin(ctx context.Context, limit time.Duration, sql string, args []any, read func(pgx.Rows) error) error {
	return classify(s.link.query(ctx, limit, inSchema(s.options.Checkpoint.Schema, sql), args, read))
}
