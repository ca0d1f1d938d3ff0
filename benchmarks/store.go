package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
)

// A threadRun returns a function that runs a new thread of the graph at each call.
type threadRun func(g *graph.Graph) func(context.Context) (outcome, error)

// newMemoryStore returns a new store in memory.
func newMemoryStore() checkpoint.Store {
	return memcheckpoint.New(memcheckpoint.Options{})
}

// inMemory makes a subject of threads of the loop that are stored in memory.
func inMemory(_ context.Context, n int, step graph.NodeFunc, run threadRun) (subject, error) {
	g, err := compileLoop(step, n, graph.Options{Checkpoints: newMemoryStore()})
	if err != nil {
		return subject{}, err
	}
	return subject{run: run(g), keeps: true}, nil
}

// inSQLite makes a subject of threads of the loop that are stored in SQLite.
func inSQLite(ctx context.Context, n int, step graph.NodeFunc, run threadRun) (subject, error) {
	return inFile(ctx, func(path string) (func(context.Context) (outcome, error), func() error, error) {
		store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
		if err != nil {
			return nil, nil, err
		}
		g, err := compileLoop(step, n, graph.Options{Checkpoints: store})
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		return run(g), store.Close, nil
	})
}

// newThreads returns a function that runs a new thread at each call.
func newThreads(g *graph.Graph) func(context.Context) (outcome, error) {
	threads := 0
	return func(ctx context.Context) (outcome, error) {
		threads++
		s, err := g.Thread(strconv.Itoa(threads)).Invoke(ctx, graph.Begin())
		if err != nil {
			return outcome{}, err
		}
		return fromSnapshot(s), nil
	}
}

// inFile makes a subject whose runs store into a SQLite database of its own.
func inFile(ctx context.Context, open func(path string) (run func(context.Context) (outcome, error), stop func() error, err error)) (subject, error) {
	folder, err := os.MkdirTemp("", "benchmarks")
	if err != nil {
		return subject{}, err
	}
	path := filepath.Join(folder, "steps.db")
	run, stop, err := open(path)
	if err != nil {
		return subject{}, errors.Join(err, os.RemoveAll(folder))
	}
	return subject{
		run:    run,
		stored: func(ctx context.Context) (int64, error) { return databaseSize(ctx, path) },
		close:  func() error { return errors.Join(stop(), os.RemoveAll(folder)) },
	}, nil
}

// databaseSize returns the size of a database in bytes, after a checkpoint of its log.
func databaseSize(ctx context.Context, path string) (size int64, err error) {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var busy, log, moved int
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil {
		return 0, err
	}
	if busy != 0 {
		return 0, fmt.Errorf("%s is busy", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
