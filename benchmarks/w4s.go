package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"

	_ "modernc.org/sqlite" // The driver of sqlitecheckpoint.
)

// w4s is W1 with every superstep stored in a SQLite file: WAL, synchronous
// NORMAL.
var w4s = workload{
	name:    "W4s",
	what:    "agent loop, stored in SQLite",
	unit:    "superstep",
	sizes:   []int{101, 401, 1001},
	payload: text1024,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: w4sFloor},
		{name: weft, setUp: w4sWeft},
	},
	targets: func(r results) []target {
		targets := []target{flat(r, 101, 1001, 1.1)}
		for _, n := range []int{101, 401, 1001} {
			targets = append(targets, timesFloor(r, n, 1.5),
				bytesOfFloor(r, n, 1.6, "on disk a superstep", storedOf))
		}
		return targets
	},
}

// A floorTable is the store of the floor: one prepared INSERT a step on one connection,
// each in a transaction of its own.
type floorTable struct {
	db     *sql.DB
	insert *sql.Stmt
}

func openFloorTable(ctx context.Context, path string) (*floorTable, error) {
	db, err := openSQLite(path)
	if err != nil {
		return nil, err
	}
	t := &floorTable{db: db}
	_, err = db.ExecContext(ctx, `CREATE TABLE step (key INTEGER PRIMARY KEY, thread TEXT, step INTEGER, change BLOB)`)
	if err == nil {
		t.insert, err = db.PrepareContext(ctx, `INSERT INTO step (thread, step, change) VALUES (?, ?, ?)`)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return t, nil
}

// openSQLite opens a database as the SQLite store does, with one connection.
func openSQLite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func (t *floorTable) close() error { return errors.Join(t.insert.Close(), t.db.Close()) }

// put stores the change of one step.
func (t *floorTable) put(ctx context.Context, thread string, update mapState, step int) error {
	change, err := json.Marshal(delta{update["messages"].([]string), update["count"].(int)})
	if err != nil {
		return err
	}
	_, err = t.insert.ExecContext(ctx, thread, step, change)
	return err
}

// storedLoop is the map loop that stores every change.
func (t *floorTable) storedLoop(ctx context.Context, p payload, thread string, n int) (mapState, error) {
	s := newMapState()
	for step, node := 1, agentNode; ; step, node = step+1, other(step) {
		update := node(p, s)
		if err := t.put(ctx, thread, update, step); err != nil {
			return nil, err
		}
		s.add(update)
		if step%2 == 1 && s["count"].(int) >= n {
			return s, nil
		}
	}
}

// other returns the node that follows a step.
func other(step int) func(payload, mapState) mapState {
	if step%2 == 1 {
		return toolsNode
	}
	return agentNode
}

func w4sFloor(ctx context.Context, w workload, n int) (subject, error) {
	return inFile(ctx, func(path string) (run func(context.Context) (outcome, error), stop func() error, err error) {
		t, err := openFloorTable(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		threads := 0
		return func(ctx context.Context) (o outcome, err error) {
			threads++
			s, err := t.storedLoop(ctx, w.payload, strconv.Itoa(threads), n)
			if err != nil {
				return o, err
			}
			o.fromMap(s)
			return o, nil
		}, t.close, nil
	})
}

func w4sWeft(ctx context.Context, w workload, n int) (subject, error) {
	return inSQLite(ctx, n, weftStep(w.payload), newThreads)
}
