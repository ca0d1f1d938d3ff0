package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/learn"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// service is a platform with its stores.
type service struct {
	*kai.Platform
	where string // the stores are
	user  func(*http.Request) (string, error)

	close []func() error
	stop  func() // ends the work, and waits for it
}

// stores are what differs from place to place.
type stores struct {
	where       string
	checkpoints checkpoint.Store
	facts       memory.Store
	turns       learn.Queue
	studio      *studio.DB
	project     *supacheckpoint.Store // of Supabase, or nil
	documents   *supacheckpoint.Agents
	close       []func() error
}

// open opens the stores that the environment names.
func (o options) open(ctx context.Context, p kai.Parts) (s *service, err error) {
	st := &stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(st.close))
		}
	}()
	if err := o.openStores(ctx, st); err != nil {
		return nil, err
	}
	vectors, err := embedder(ctx)
	if err != nil {
		return nil, err
	}
	p.Checkpoints, p.Studio, p.Documents = st.checkpoints, st.studio, st.documents
	if p.Facts, err = memory.New(st.facts, memory.Options{Embedder: vectors}); err != nil {
		return nil, err
	}
	model, err := p.Model(kai.Config{})
	if err != nil {
		return nil, err
	}
	how := learning(model, st.turns)
	how.Logger = p.Logger
	if p.Learner, err = learn.New(p.Facts, how); err != nil {
		return nil, err
	}
	platform, err := kai.New(p)
	if err != nil {
		return nil, wrong("%v", err)
	}
	return &service{Platform: platform, where: st.where, user: st.caller(), close: st.close, stop: func() {}}, nil
}

// work learns turns as they come, until the service is closed. Without it they are learned when that happens.
func (s *service) work() {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = s.Learner.Work(ctx) }) // its error is that of the context
	s.stop = func() { cancel(); work.Wait() }
}

func (o options) openStores(ctx context.Context, st *stores) error {
	switch {
	case os.Getenv("SUPABASE_DB_URL") != "" || os.Getenv("SUPABASE_URL") != "":
		return o.openSupabase(ctx, st)
	case os.Getenv("DATABASE_URL") != "":
		return o.openPostgres(ctx, st, os.Getenv("DATABASE_URL"))
	}
	return o.openSQLite(ctx, st)
}

func (o options) openSQLite(ctx context.Context, st *stores) error {
	st.where = "SQLite in " + o.data
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return wrong("%v", err)
	}
	checkpoints, err := sqlitecheckpoint.Open(ctx, filepath.Join(o.data, "checkpoints.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	st.checkpoints, st.close = checkpoints, append(st.close, checkpoints.Close)
	facts, err := sqlitememory.Open(ctx, filepath.Join(o.data, "memory.db"), sqlitememory.Options{})
	if err != nil {
		return err
	}
	st.facts, st.turns, st.close = facts.Facts(), facts.Turns(), append(st.close, facts.Close)
	st.studio, err = studio.OpenSQLite(ctx, filepath.Join(o.data, "studio.db"))
	return st.keepStudio(err)
}

func (st *stores) keepStudio(err error) error {
	if err == nil {
		st.close = append(st.close, st.studio.Close)
	}
	return err
}

func (o options) openPostgres(ctx context.Context, st *stores, address string) error {
	st.where = "PostgreSQL, schema " + o.schema
	checkpoints, err := pgcheckpoint.Open(ctx, address, pgcheckpoint.Options{Schema: o.schema, LeaseTime: o.lease})
	if err != nil {
		return err
	}
	st.checkpoints, st.close = checkpoints, append(st.close, closer(checkpoints.Close))
	facts, err := pgmemory.Open(ctx, address, pgmemory.Options{Schema: o.schema})
	if err != nil {
		return err
	}
	st.facts, st.turns, st.close = facts.Facts(), facts.Turns(), append(st.close, closer(facts.Close))
	st.studio, err = studio.OpenPostgres(ctx, address, o.schema)
	return st.keepStudio(err)
}

// openSupabase opens a project: checkpoints and memories with its row-level security, and the table
// agent_checkpoints, which programs in other languages read.
func (o options) openSupabase(ctx context.Context, st *stores) error {
	st.where = "Supabase, schema " + o.schema
	project, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: o.schema, LeaseTime: o.lease}})
	if err != nil {
		return err
	}
	st.checkpoints, st.project, st.close = project, project, append(st.close, closer(project.Close))
	address := os.Getenv("SUPABASE_DB_URL")
	if address == "" {
		address = os.Getenv("DATABASE_URL")
	}
	config, err := pgmemory.PoolConfig(address, pgmemory.Detect)
	if err != nil {
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	st.close = append(st.close, closer(pool.Close))
	if err := supacheckpoint.MigrateDocuments(ctx, pool); err != nil {
		return err
	}
	if st.documents, err = project.Agents(); err != nil {
		return err
	}
	if err := pgmemory.MigrateSupabase(ctx, pool, pgmemory.Options{Schema: o.schema}, false); err != nil {
		return err
	}
	facts, err := pgmemory.New(ctx, pool, pgmemory.Options{Schema: o.schema})
	if err != nil {
		return err
	}
	st.facts, st.turns = facts.Facts(), facts.Turns()
	st.studio, err = studio.OpenPostgres(ctx, address, o.schema)
	return st.keepStudio(err)
}

// caller says who asks over HTTP: in a Supabase project whose tokens can be checked the user of the token,
// else whoever knows the token.
func (st *stores) caller() func(*http.Request) (string, error) {
	if st.project == nil || os.Getenv("SUPABASE_URL") == "" && os.Getenv("SUPABASE_JWT_SECRET") == "" {
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

// closeAll closes in the order opposite to that of opening.
func closeAll(fns []func() error) (err error) {
	for i := range fns {
		err = errors.Join(err, fns[len(fns)-1-i]())
	}
	return err
}

// Close learns what is still to be learned, for so long, and closes the stores. What is left stays in the queue.
func (s *service) Close(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.Learner.Drain(ctx)
	s.stop()
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return errors.Join(err, closeAll(s.close))
}
