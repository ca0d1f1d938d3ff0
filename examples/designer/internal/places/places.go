// Package places opens the stores of the platform.
package places

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/weft-go/weft/examples/internal/jsonhttp"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// Stores has the stores of a platform, in SQLite, in PostgreSQL or in a Supabase project.
type Stores struct {
	Where       string
	Checkpoints checkpoint.Store
	Runs        runs.Store // of the server
	Memory      driver.Backend
	Studio      *studio.DB
	// Documents is the table agent_checkpoints of a Supabase project, or nil.
	Documents *supacheckpoint.Agents

	project *supacheckpoint.Store // of Supabase, or nil
	close   []func() error
}

// Options locate the stores: Data is the folder of SQLite, and Schema the schema in PostgreSQL. Lease is the time for
// which a process that died holds its conversations in PostgreSQL.
type Options struct {
	Data, Schema string
	Lease        time.Duration
}

// Open opens the stores that the environment selects: a Supabase project if SUPABASE_DB_URL or SUPABASE_URL is set,
// else PostgreSQL if DATABASE_URL is set, else SQLite.
func Open(ctx context.Context, o Options) (*Stores, error) {
	st := &Stores{}
	if err := o.open(ctx, st); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// Close closes the stores in the reverse order of opening.
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
	file := filepath.Join(o.Data, "checkpoints.db")
	checkpoints, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	st.Checkpoints, st.close = checkpoints, append(st.close, checkpoints.Close)
	records, err := sqliteruns.Open(ctx, file, sqliteruns.Options{})
	if err != nil {
		return err
	}
	st.Runs, st.close = records, append(st.close, records.Close)
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
	return o.openPool(ctx, st, address, pgmemory.Migrate)
}

// openPool opens the memory, the records of the server and the studio.
func (o Options) openPool(ctx context.Context, st *Stores, address string, migrate func(context.Context, pgmemory.Conn, pgmemory.Options) error) error {
	config, err := pgmemory.PoolConfig(address, pgmemory.Detect)
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	st.close = append(st.close, closer(pool.Close))
	if err := migrate(ctx, pool, pgmemory.Options{Schema: o.Schema}); err != nil {
		return err
	}
	facts, err := pgmemory.New(ctx, pool, pgmemory.Options{Schema: o.Schema})
	if err != nil {
		return err
	}
	if err := pgruns.Migrate(ctx, pool, pgruns.Options{Schema: o.Schema}); err != nil {
		return err
	}
	records, err := pgruns.New(ctx, pool, pgruns.Options{Schema: o.Schema})
	if err != nil {
		return err
	}
	st.Memory, st.Runs = facts, records
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
	if st.Documents, err = project.Agents(); err != nil {
		return err
	}
	return o.openPool(ctx, st, address, pgmemory.MigratePublic)
}

// Caller returns a function that finds the user of a request. If the store is a Supabase project that
// can verify tokens, it is the user of the token. Otherwise the hash of the token is the user's id,
// and a request without a token comes from the user "local".
func (st *Stores) Caller() func(*http.Request) (server.User, error) {
	if st.project == nil || cmp.Or(os.Getenv("SUPABASE_URL"), os.Getenv("NEXT_PUBLIC_SUPABASE_URL"), os.Getenv("SUPABASE_JWT_SECRET")) == "" {
		return func(r *http.Request) (server.User, error) {
			token, err := bearer(r)
			if err != nil || token == "" {
				return server.User{ID: "local"}, err
			}
			sum := sha256.Sum256([]byte(token)) // the user chooses the token; only its hash is stored
			return server.User{ID: hex.EncodeToString(sum[:])}, nil
		}
	}
	return func(r *http.Request) (server.User, error) {
		token, err := bearer(r)
		if err != nil {
			return server.User{}, err
		}
		user, err := st.project.VerifyJWT(r.Context(), token)
		switch {
		case errors.Is(err, supacheckpoint.ErrToken):
			return server.User{}, jsonhttp.Refuse(http.StatusUnauthorized, "A token of the project is needed.")
		case err != nil:
			return server.User{}, jsonhttp.Refuse(http.StatusServiceUnavailable, "The token cannot be verified now.")
		}
		return server.User{ID: user.ID}, nil
	}
}

// bearer returns the token of a request, or "" without credentials.
func bearer(r *http.Request) (string, error) {
	header := r.Header.Get("Authorization")
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if header != "" && (!strings.EqualFold(scheme, "Bearer") || token == "") {
		return "", jsonhttp.Refuse(http.StatusUnauthorized, "Authorization must be Bearer and a token.")
	}
	return token, nil
}

func closer(fn func()) func() error { return func() error { fn(); return nil } }
