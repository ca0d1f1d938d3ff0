package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/desk"
	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// open opens the model, the desk, the store and the tracing, and builds the graph.
func (s *session) open(ctx context.Context) error {
	model, name, err := s.model(ctx)
	s.modelName = name
	if err != nil {
		return err
	}
	d, err := s.openDesk(ctx)
	if d != nil {
		s.close = append(s.close, d.Close)
	}
	if err != nil {
		return err
	}
	if s.tools, err = d.Tools(); err != nil {
		return err
	}
	store, err := s.openStore(ctx)
	if err != nil {
		return err
	}
	if s.tracing, err = tracing.Open(ctx, os.Getenv); err != nil {
		return err
	}
	s.close = append(s.close, s.tracing.Close)
	o := s.tracing.Graph(graph.Options{Checkpoints: store})
	if s.serve == "" {
		o.PauseBefore = []string{assistant.ConfirmActions} // the terminal asks, not the node
	}
	if s.graph, err = assistant.New(model, assistant.Desk{Tools: s.tools, Describe: d.Describe, Now: now}, o); err != nil {
		return err
	}
	if s.draw {
		fmt.Fprint(s.out, s.graph.Mermaid())
	} else if !s.History {
		fmt.Fprintf(s.out, "calendar   %s\nmodel      %s\n", s.path, name)
	}
	return nil
}

// now is the clock of the program. Tests replace it.
var now = time.Now

// openDesk opens the calendar, the mail and the tasks. Without -calendar, it creates a sample calendar if there is none,
// and sample mails and tasks if there is no database.
func (s *session) openDesk(ctx context.Context) (*desk.Desk, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, command.Wrong("%v", err)
	}
	path, database := s.calendar, filepath.Join(s.dir, "desk.db")
	if path == "" {
		path = filepath.Join(s.dir, "calendar.ics")
		if err := desk.SampleCalendar(path, now()); err != nil {
			return nil, err
		}
	}
	_, err := os.Stat(database)
	fresh := errors.Is(err, os.ErrNotExist) && s.calendar == ""
	if fresh {
		fmt.Fprintf(s.out, "sample     a calendar, mails and tasks were made in %s\n", s.dir)
	}
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	calendar, err := ics.Open(path, time.Local)
	if err != nil {
		return nil, command.Wrong("the calendar can not be used: %v", err)
	}
	d, err := desk.Open(ctx, calendar, database, now)
	if err == nil && fresh {
		err = d.Sample(ctx)
	}
	return d, err
}

// postgres is the PostgreSQL schema of the conversations and of the server's runs.
const postgres = "weft_calendar"

// openStore opens the store of the conversations: PostgreSQL if DATABASE_URL is set, else a SQLite file.
func (s *session) openStore(ctx context.Context) (checkpoint.Store, error) {
	if s.database != "" {
		o := pgcheckpoint.Options{Schema: postgres, LeaseTime: 5 * time.Second}
		if s.serve == "" {
			o.Busy = pgcheckpoint.Wait // until the lease of a killed process expires
		}
		store, err := pgcheckpoint.Open(ctx, s.database, o)
		if err != nil {
			return nil, command.Wrong("DATABASE_URL: %v", err)
		}
		s.close = append(s.close, func() error { store.Close(); return nil })
		return store, nil
	}
	store, err := sqlitecheckpoint.Open(ctx, s.file(), sqlitecheckpoint.Options{})
	if err != nil {
		return nil, command.Wrong("conversations can not be kept in %s: %v", s.dir, err)
	}
	s.close = append(s.close, store.Close)
	return store, nil
}

// openRuns opens the store of the server's runs, in the same database as the conversations.
func (s *session) openRuns(ctx context.Context) (runs.Store, error) {
	if s.database != "" {
		store, err := pgruns.Open(ctx, s.database, pgruns.Options{Schema: postgres})
		if err != nil {
			return nil, command.Wrong("DATABASE_URL: %v", err)
		}
		s.close = append(s.close, func() error { store.Close(); return nil })
		return store, nil
	}
	store, err := sqliteruns.Open(ctx, s.file(), sqliteruns.Options{})
	if err != nil {
		return nil, command.Wrong("runs can not be kept in %s: %v", s.dir, err)
	}
	s.close = append(s.close, store.Close)
	return store, nil
}

// file is the path of the database of conversations.
func (o options) file() string { return filepath.Join(o.dir, "conversations.db") }
