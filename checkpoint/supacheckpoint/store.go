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
// service itself. It has every optional power, and sessions. It is safe for use by
// any number of goroutines.
type Store struct {
	*pgcheckpoint.Store
	link    link
	tenant  string // the user, or empty
	options Options
	owned   bool // the pool is the store's to close
}

var serviceBound = bound{role: roleService, claims: `{"role":"` + roleService + `"}`}

// New returns a store with the rights of the service role, on a pool that stays the
// caller's. Behind a transaction pooler, its connections must not cache statements:
// take pgcheckpoint.PoolConfig. The database is migrated, or else this is an
// [ErrNotMigrated]; who logs in there has to be a member of the roles
// service_role and authenticated, as postgres and authenticator are.
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
		// The tables are those of package pgcheckpoint alone, without the grants.
		err = fmt.Errorf("%w: %w", ErrNotMigrated, err)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Open connects to a project's database, migrates it unless [Options.Migrated] is
// set, and returns a store as [New] does, with a pool of its own. The caller closes
// the store.
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

// Close closes the pool of [Open] and [FromEnv], once the calls that use it have
// ended. It does nothing on a store of [New], [Store.As] and [Store.For].
func (s *Store) Close() {
	if s.owned {
		s.link.pool.Close()
	}
}

// As returns a store for a user, on the same pool. All that it does is done with
// the user's role and claims, so the policies of the database apply to it. It costs
// nothing, and is to be made for each request. A user without a UUID, or with another
// role than authenticated, is a [checkpoint.ErrInvalid].
func (s *Store) As(u User) (*Store, error) {
	as, err := u.bind()
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: as: %w", err)
	}
	return s.with(as, as.id)
}

// For returns a store for the threads of a user, with the rights of the service
// role: for what a service does when its user is not there. It never touches the
// threads of others.
func (s *Store) For(userID string) (*Store, error) {
	id, err := canonicalUUID(userID)
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: for: user id %.60q: %w", userID, err)
	}
	if s.link.as.role != roleService {
		return nil, fmt.Errorf("supacheckpoint: for: this store is a user's own: %w", ErrRole)
	}
	return s.with(serviceBound, id)
}

// Rights queues what gives the statements behind it the rights that the store is bound to: those of its user,
// or of the service. It is for what else is kept in the project by a program that queues its statements,
// such as pgmemory.Bind. For transactions of the caller's own there is [Store.Do].
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

// query is that of the link, in the store's schema.
func (s *Store) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	return s.queryWithin(ctx, defaultTimeout, sql, args, read)
}

func (s *Store) queryWithin(ctx context.Context, limit time.Duration, sql string, args []any, read func(pgx.Rows) error) error {
	return classify(s.link.query(ctx, limit, inSchema(s.options.Checkpoint.Schema, sql), args, read))
}
