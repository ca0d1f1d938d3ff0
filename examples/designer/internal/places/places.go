// Package places opens what the platform keeps its data in.
package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// Stores are what differs from place to place.
type Stores struct {
	Where       string
	Checkpoints checkpoint.Store
	Memory      driver.Backend
	Studio      *studio.DB
	// Documents is the table agent_checkpoints of a Supabase project, or nil.
	Documents *supacheckpoint.Agents

	project *supacheckpoint.Store // of Supabase, or nil
	close   []func() error
}

// Options say where the stores are: the folder of SQLite, the schema of PostgreSQL, and how long a process that
// died holds its conversations there.
type Options struct {
	Data, Schema string
	Lease        time.Duration
}

// Open opens the stores that the environment names: SUPABASE_DB_URL or SUPABASE_URL a project, DATABASE_URL a
// PostgreSQL, nothing SQLite.
func Open(ctx context.Context, o Options) (*Stores, error) {
	st := &Stores{}
	if err := o.open(ctx, st); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// Close closes the stores, in the order opposite to that of opening.
func (st *Stores) Close() (err error) {
	for _, fn := range slices.Backward(st.close) {
		err = errors.Join(err, fn())
	}
	return err
}

func (o Options) open(ctx context.Context, st *Stores) error {
	switch {
	case os.Getenv("SUPABASE_DB_URL") != "" || os.Getenv("SUPABASE_URL") != "":
		return o.openSupabase(ctx, st)
	case os.Getenv("DATABASE_URL") != "":
		return o.openPostgres(ctx, st, os.Getenv("DATABASE_URL"))
	}
	return o.openSQLite(ctx, st)
}

func (o Options) openSQLite(ctx context.Context, st *Stores) error {
	st.Where = "SQLite in " + o.Data
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return fmt.Errorf("places: %w", err)
	}
	checkpoints, err := sqlitecheckpoint.Open(ctx, filepath.Join(o.Data, "checkpoints.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	st.Checkpoints, st.close = checkpoints, append(st.close, checkpoints.Close)
	facts, err := sqlitememory.Open(ctx, filepath.Join(o.Data, "memory.db"), sqlitememory.Options{})
	if err != nil {
		return err
	}
	st.Memory, st.close = facts, append(st.close, facts.Close)
	st.Studio, err = studio.OpenSQLite(ctx, filepath.Join(o.Data, "studio.db"))
	return st.keepStudio(err)
}

func (st *Stores) keepStudio(err error) error {
	if err == nil {
		st.close = append(st.close, st.Studio.Close)
	}
	return err
}

func (o Options) openPostgres(ctx context.Context, st *Stores, address string) error {
	st.Where = "PostgreSQL, schema " + o.Schema
	checkpoints, err := pgcheckpoint.Open(ctx, address, pgcheckpoint.Options{Schema: o.Schema, LeaseTime: o.Lease})
	if err != nil {
		return err
	}
	st.Checkpoints, st.close = checkpoints, append(st.close, closer(checkpoints.Close))
	facts, err := pgmemory.Open(ctx, address, pgmemory.Options{Schema: o.Schema})
	if err != nil {
		return err
	}
	st.Memory, st.close = facts, append(st.close, closer(facts.Close))
	st.Studio, err = studio.OpenPostgres(ctx, address, o.Schema)
	return st.keepStudio(err)
}

// openSupabase opens a project: checkpoints and memories with its row-level security, and the table
// agent_checkpoints, which programs in other languages read.
func (o Options) openSupabase(ctx context.Context, st *Stores) error {
	st.Where = "Supabase, schema " + o.Schema
	project, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{Documents: true, Checkpoint: pgcheckpoint.Options{Schema: o.Schema, LeaseTime: o.Lease}})
	if err != nil {
		return err
	}
	st.Checkpoints, st.project, st.close = project, project, append(st.close, closer(project.Close))
	address := cmp.Or(os.Getenv("SUPABASE_DB_URL"), os.Getenv("DATABASE_URL"))
	config, err := pgmemory.PoolConfig(address, pgmemory.Detect)
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	st.close = append(st.close, closer(pool.Close))
	if st.Documents, err = project.Agents(); err != nil {
		return err
	}
	if err := pgmemory.MigratePublic(ctx, pool, pgmemory.Options{Schema: o.Schema}); err != nil {
		return err
	}
	facts, err := pgmemory.New(ctx, pool, pgmemory.Options{Schema: o.Schema})
	if err != nil {
		return err
	}
	st.Memory = facts
	st.Studio, err = studio.OpenPostgres(ctx, address, o.Schema)
	return st.keepStudio(err)
}

// Caller says who asks over HTTP: in a Supabase project whose tokens can be checked the user of the token,
// else whoever knows the token.
func (st *Stores) Caller() func(*http.Request) (string, error) {
	if st.project == nil || cmp.Or(os.Getenv("SUPABASE_URL"), os.Getenv("NEXT_PUBLIC_SUPABASE_URL"), os.Getenv("SUPABASE_JWT_SECRET")) == "" {
		return func(r *http.Request) (string, error) { return web.Caller(r), nil }
	}
	return func(r *http.Request) (string, error) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		user, err := st.project.VerifyJWT(r.Context(), token)
		if errors.Is(err, supacheckpoint.ErrToken) {
			return "", web.Refuse(http.StatusUnauthorized, "A token of the project is needed.")
		}
		return user.ID, err
	}
}

func closer(fn func()) func() error { return func() error { fn(); return nil } }
