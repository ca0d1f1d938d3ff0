package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/graph"
)

// oneInsert is the floor of W4p for bytes.
const oneInsert = "one INSERT"

// w4p is W1 with every superstep stored in PostgreSQL. The floor stores the change of
// a step and updates the head of the thread in one statement.
var w4p = workload{
	name:    "W4p",
	what:    "agent loop, stored in PostgreSQL",
	unit:    "superstep",
	sizes:   []int{101, 401, 1001, 10001},
	warm:    true,
	rounds:  inTurn,
	payload: text1024,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: oneInsert, setUp: w4pInsert},
		{name: floor, setUp: w4pHead},
		{name: weft, setUp: w4pWeft},
	},
	targets: func(r results) []target {
		trips := r.paired(func(round ...sample) float64 {
			return (round[1].trips - round[0].trips) / (1001 - 101)
		}, cell{weft, 101}, cell{weft, 1001})
		targets := []target{
			{n: 1001, text: "<= 1 round trip for each further superstep", got: trips, bound: 1},
			flat(r, 101, 10001, 1.1),
		}
		for _, n := range []int{101, 401, 1001, 10001} {
			targets = append(targets, timesFloor(r, n, 1.35),
				bytesOf(r, oneInsert, n, 1.6, "on disk a superstep", storedOf))
		}
		return targets
	},
}

func w4pInsert(ctx context.Context, w workload, n int) (subject, error) {
	return postgresFloor(ctx, w.payload, n,
		`CREATE TABLE %[1]s.step (key bigserial PRIMARY KEY, thread text, step int, change bytea)`,
		`INSERT INTO %[1]s.step (thread, step, change) VALUES ($1, $2, $3)`)
}

func w4pHead(ctx context.Context, w workload, n int) (subject, error) {
	return postgresFloor(ctx, w.payload, n,
		`CREATE TABLE %[1]s.delta (thread text, step int, change bytea, PRIMARY KEY (thread, step));
		CREATE TABLE %[1]s.head (thread text PRIMARY KEY, step int) WITH (fillfactor = 70)`,
		`WITH d AS (INSERT INTO %[1]s.delta (thread, step, change) VALUES ($1, $2, $3))
		INSERT INTO %[1]s.head (thread, step) VALUES ($1, $2) ON CONFLICT (thread) DO UPDATE SET step = excluded.step`)
}

// postgresFloor makes a subject of the map loop that executes one prepared statement a
// step on one connection. Both statements name the schema as %[1]s.
func postgresFloor(ctx context.Context, p payload, n int, create, put string) (subject, error) {
	return inPostgres(ctx, func(d *database) (threadsOf, error) {
		if _, err := d.pool.Exec(ctx, fmt.Sprintf(create, d.schema)); err != nil {
			return nil, err
		}
		put := fmt.Sprintf(put, d.schema)
		return func(ctx context.Context, thread string, steps int) (o outcome, err error) {
			err = d.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				s, err := postgresLoop(ctx, conn, put, p, thread, steps)
				o.fromMap(s)
				return err
			})
			return o, err
		}, nil
	}, n)
}

// postgresLoop is the map loop that stores every change.
func postgresLoop(ctx context.Context, conn *pgxpool.Conn, put string, p payload, thread string, n int) (mapState, error) {
	s := newMapState()
	for step, node := 1, agentNode; ; step, node = step+1, other(step) {
		update := node(p, s)
		change, err := json.Marshal(delta{update["messages"].([]string), update["count"].(int)})
		if err != nil {
			return nil, err
		}
		if _, err := conn.Exec(ctx, put, thread, step, change); err != nil {
			return nil, err
		}
		s.add(update)
		if step%2 == 1 && s["count"].(int) >= n {
			return s, nil
		}
	}
}

func w4pWeft(ctx context.Context, w workload, n int) (subject, error) {
	return inPostgres(ctx, func(d *database) (threadsOf, error) { return loopInPostgres(ctx, d, w.payload) }, n)
}

// loopInPostgres returns a function that runs threads of the loop.
func loopInPostgres(ctx context.Context, d *database, p payload) (threadsOf, error) {
	store, err := d.store(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, thread string, steps int) (outcome, error) {
		g, err := weftLoop(p, steps, graph.Options{Checkpoints: store})
		if err != nil {
			return outcome{}, err
		}
		s, err := g.Thread(thread).Invoke(ctx, graph.Begin())
		if err != nil {
			return outcome{}, err
		}
		return fromSnapshot(s), nil
	}, nil
}

// A threadsOf runs a new thread with the given number of supersteps.
type threadsOf func(ctx context.Context, thread string, steps int) (outcome, error)

// warmSteps is the length of the thread that prepares the statements of a connection.
const warmSteps = 11

// inPostgres makes a subject of threads of n supersteps in a schema of its own.
func inPostgres(ctx context.Context, open func(*database) (threadsOf, error), n int) (s subject, err error) {
	d, err := openDatabase(ctx, nil)
	if err != nil {
		return subject{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	run, err := open(d)
	if err != nil {
		return subject{}, err
	}
	if _, err := run(ctx, "warm", warmSteps); err != nil {
		return subject{}, err
	}
	empty, err := d.size(ctx)
	if err != nil {
		return subject{}, err
	}
	threads := 0
	return subject{
		run: func(ctx context.Context) (outcome, error) {
			threads++
			before := d.trips.Load()
			o, err := run(ctx, strconv.Itoa(threads), n)
			o.trips = d.trips.Load() - before
			return o, err
		},
		stored: func(ctx context.Context) (int64, error) {
			size, err := d.size(ctx)
			return size - empty, err
		},
		close: d.close,
	}, nil
}
