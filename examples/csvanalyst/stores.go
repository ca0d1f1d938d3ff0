package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// stores are the stores of the program besides its files: the records of sessions, the checkpoints, and the runs of
// the server.
type stores struct {
	records     *records.DB
	checkpoints checkpoint.Store
	runs        runs.Store
	closers     []func() error
}

func (s *stores) close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}

func openStores(ctx context.Context, c config) (*stores, error) {
	s := &stores{}
	open := s.openSQLite
	if c.database != "" {
		open = s.openPostgres
	}
	if err := open(ctx, c); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stores) openSQLite(ctx context.Context, c config) (err error) {
	if s.records, err = records.OpenSQLite(ctx, filepath.Join(c.folder, "records.db")); err != nil {
		return err
	}
	s.closers = append(s.closers, s.records.Close)
	path := filepath.Join(c.folder, "checkpoints.db")
	checkpoints, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	s.checkpoints, s.closers = checkpoints, append(s.closers, checkpoints.Close)
	r, err := sqliteruns.Open(ctx, path, sqliteruns.Options{})
	if err != nil {
		return err
	}
	s.runs, s.closers = r, append(s.closers, r.Close)
	return nil
}

func (s *stores) openPostgres(ctx context.Context, c config) (err error) {
	if s.records, err = records.OpenPostgres(ctx, c.database, c.schema); err != nil {
		return err
	}
	s.closers = append(s.closers, s.records.Close)
	checkpoints, err := pgcheckpoint.Open(ctx, c.database, pgcheckpoint.Options{Schema: c.schema, LeaseTime: 5 * time.Second})
	if err != nil {
		return err
	}
	s.checkpoints, s.closers = checkpoints, append(s.closers, func() error { checkpoints.Close(); return nil })
	r, err := pgruns.Open(ctx, c.database, pgruns.Options{Schema: c.schema})
	if err != nil {
		return err
	}
	s.runs, s.closers = r, append(s.closers, func() error { r.Close(); return nil })
	return nil
}
