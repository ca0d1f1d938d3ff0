package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/api"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// server is the program's server with its stores.
type server struct {
	api.Server
	closeRuns func() error
}

// open opens the backend that the environment names, and returns a description of it.
func (s *server) open(ctx context.Context, c config) (kept string, err error) {
	s.Keep, s.Hosts = c.keep, c.hosts
	if account.Configured() {
		s.Cookie = account.CookieName(account.Project())
		if s.Backend, err = opened(account.OpenSupabase(ctx, c.migrated, s.Logger)); err != nil {
			return "", err
		}
		return "Supabase, and runs in " + c.folder, s.runsInFile(ctx, c.folder)
	}
	s.Cookie = account.LocalCookie
	if s.Secret, err = account.Secret(c.folder); err != nil {
		return "", err
	}
	if url := os.Getenv("DATABASE_URL"); url != "" {
		if s.Backend, err = opened(account.OpenPostgres(ctx, url, c.schema, s.Secret)); err != nil {
			return "", err
		}
		return "PostgreSQL", s.runsInPostgres(ctx, url, c.schema)
	}
	if s.Backend, err = opened(account.OpenSQLite(ctx, c.folder, s.Secret)); err != nil {
		return "", err
	}
	return "SQLite, in " + c.folder, s.runsInFile(ctx, c.folder)
}

// runsInFile keeps the runs in a file of a folder.
func (s *server) runsInFile(ctx context.Context, folder string) error {
	store, err := sqliteruns.Open(ctx, filepath.Join(folder, "runs.db"), sqliteruns.Options{})
	if err != nil {
		return errors.Join(err, s.Backend.Close())
	}
	s.Runs, s.closeRuns = store, store.Close
	return nil
}

// runsInPostgres keeps the runs in a schema of a database.
func (s *server) runsInPostgres(ctx context.Context, address, schema string) error {
	store, err := pgruns.Open(ctx, address, pgruns.Options{Schema: schema})
	if err != nil {
		return errors.Join(err, s.Backend.Close())
	}
	s.Runs, s.closeRuns = store, func() error { store.Close(); return nil }
	return nil
}

// opened returns a nil backend for an error, and not a backend that is a nil pointer.
func opened[B account.Backend](b B, err error) (account.Backend, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

// cleanUp removes unused sessions and old documents, now and every hour.
func (s *server) cleanUp(ctx context.Context, keep time.Duration) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		n, err := s.Backend.CleanUp(ctx, keep)
		if err = errors.Join(err, s.Documents.CleanUp(keep)); err != nil && ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "clean up", "error", err)
		}
		if n > 0 {
			s.Logger.InfoContext(ctx, "clean up", "sessions", n)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// close closes the stores that open has opened.
func (s *server) close() error { return errors.Join(s.closeRuns(), s.Backend.Close()) }
