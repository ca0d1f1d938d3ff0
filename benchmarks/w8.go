package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

const (
	w8Tasks = 1000
	// besideSlow is weft with one slow task, which returns when the results of all others
	// are visible. It measures the time until they are visible.
	besideSlow = "slow"
	// slowTask is the item of the slow task, and slowTime is the time limit of the task.
	slowTask = w8Tasks / 2
	slowTime = 10 * time.Second
)

// w8Postgres and w8SQLite measure one superstep of 1,000 quick tasks on a store: from
// the start of its first task to the start of the next superstep. The floor stores
// the results at once: by one COPY, or in one transaction.
var (
	w8Postgres = w8Store{name: "postgres", fanOut: fanOutInPostgres, floor: w8Copy, floorName: "COPY", trips: true}.workload()
	w8SQLite   = w8Store{name: "sqlite", fanOut: fanOutInSQLite, floor: w8Transaction, floorName: "transaction"}.workload()
)

type setUp func(ctx context.Context, w workload, n int) (subject, error)

// A w8Store describes the measurement of W8 on a store.
type w8Store struct {
	name      string
	fanOut    func(slow bool) setUp
	floor     setUp
	floorName string
	trips     bool // the store makes round trips
}

func (s w8Store) workload() workload {
	return workload{
		name:    "W8-" + s.name,
		what:    "one superstep of 1,000 quick tasks, stored",
		unit:    "task",
		sizes:   []int{w8Tasks},
		last:    true,
		warm:    true,
		rounds:  5,
		payload: text64,
		verify:  verifyLoop,
		contestants: []contestant{
			{name: floor, setUp: s.floor},
			{name: weft, setUp: s.fanOut(false)},
			{name: besideSlow, setUp: s.fanOut(true)},
		},
		targets: s.targets,
	}
}

func (s w8Store) targets(r results) []target {
	own := cell{weft, w8Tasks}
	once := timesFloor(r, w8Tasks, 3)
	once.text = "<= 3 x one " + s.floorName
	later := r.paired(func(round ...sample) float64 {
		return (round[0].ns - round[1].ns) * w8Tasks / 1e6
	}, cell{besideSlow, w8Tasks}, own)
	targets := []target{once, {
		n: w8Tasks, bound: 50, got: later,
		text: "results visible beside a slow task <= 50 ms later than without",
	}}
	if s.trips {
		targets = append(targets, atMost(r, own, 50, "round trips", tripsOf))
	}
	return targets
}

// A fanOut runs threads of the fan-out and measures the superstep of its tasks.
type fanOut struct {
	payload payload
	n       int
	store   checkpoint.Store
	reader  checkpoint.Store // the same threads, on separate connections
	trips   func() int64     // round trips so far
	slow    bool

	graph   *graph.Graph
	threads int
	// The superstep that runs now.
	first      *sync.Once
	began      time.Time
	tripsBegan int64
	measured   outcome
}

// compile builds the graph and runs it once, which prepares the statements of the
// connections.
func (f *fanOut) compile(ctx context.Context) (err error) {
	opts := graph.Options{Checkpoints: f.store}
	if f.graph, err = compileFanOut(f.n, f.task, f.join, opts); err != nil {
		return err
	}
	_, err = f.run(ctx)
	return err
}

func (f *fanOut) task(ctx context.Context, s state.View) (state.Update, error) {
	f.first.Do(func() { f.began, f.tripsBegan = time.Now(), f.trips() })
	i := Item.Get(s)
	if f.slow && i == slowTask {
		if err := f.awaitOthers(ctx); err != nil {
			return nil, err
		}
	}
	return state.Update{Found.Put(f.payload.message(i))}, nil
}

// awaitOthers returns when a reader sees the results of all other tasks, or after
// slowTime.
func (f *fanOut) awaitOthers(ctx context.Context) error {
	polls := time.NewTicker(25 * time.Millisecond)
	defer polls.Stop()
	for time.Since(f.began) < slowTime {
		c, err := f.reader.Get(ctx, checkpoint.Key{Thread: f.thread()})
		if err != nil {
			return err
		}
		tasks := make(map[string]bool, f.n)
		for _, w := range c.Writes {
			tasks[w.Task] = true
		}
		if len(tasks) == f.n-1 {
			break
		}
		select {
		case <-polls.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.measured.took = time.Since(f.began)
	return nil
}

func (f *fanOut) join(ctx context.Context, s state.View) (state.Update, error) {
	if !f.slow {
		f.measured = outcome{took: time.Since(f.began), trips: f.trips() - f.tripsBegan}
	}
	return joinFound(ctx, s)
}

func (f *fanOut) thread() string { return strconv.Itoa(f.threads) }

// run runs a new thread.
func (f *fanOut) run(ctx context.Context) (outcome, error) {
	f.threads++
	f.first = new(sync.Once)
	s, err := f.graph.Thread(f.thread()).Invoke(ctx, graph.Begin())
	if err != nil {
		return outcome{}, err
	}
	o := fromSnapshot(s)
	o.took, o.trips = f.measured.took, f.measured.trips
	return o, nil
}

func fanOutInPostgres(slow bool) setUp {
	return func(ctx context.Context, w workload, n int) (subject, error) {
		d, err := openDatabase(ctx, nil)
		if err != nil {
			return subject{}, err
		}
		store, err := d.store(ctx)
		if err != nil {
			return subject{}, errors.Join(err, d.close())
		}
		reader, err := pgcheckpoint.Open(ctx, databaseURL, pgcheckpoint.Options{Schema: d.name})
		if err != nil {
			return subject{}, errors.Join(err, d.close())
		}
		stop := func() error {
			reader.Close()
			return d.close()
		}
		f := &fanOut{payload: w.payload, n: n, store: store, reader: reader, trips: d.trips.Load, slow: slow}
		if err := f.compile(ctx); err != nil {
			return subject{}, errors.Join(err, stop())
		}
		return subject{run: f.run, close: stop}, nil
	}
}

func fanOutInSQLite(slow bool) setUp {
	return func(ctx context.Context, w workload, n int) (subject, error) {
		return inFile(ctx, func(path string) (func(context.Context) (outcome, error), func() error, error) {
			opts := sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal}
			store, err := sqlitecheckpoint.Open(ctx, path, opts)
			if err != nil {
				return nil, nil, err
			}
			reader, err := sqlitecheckpoint.Open(ctx, path, opts)
			if err != nil {
				return nil, nil, errors.Join(err, store.Close())
			}
			stop := func() error { return errors.Join(reader.Close(), store.Close()) }
			f := &fanOut{payload: w.payload, n: n, store: store, reader: reader, trips: func() int64 { return 0 }, slow: slow}
			if err := f.compile(ctx); err != nil {
				return nil, nil, errors.Join(err, stop())
			}
			return f.run, stop, nil
		})
	}
}

// A storeOf stores the results of a thread at once, and then reads them. It returns the
// stored results, and the time of storing without the time of reading.
type storeOf func(ctx context.Context, thread string, results [][]byte) (found [][]byte, took time.Duration, err error)

// storing returns a function that stores the results of n tasks at each call.
func storing(w workload, n int, store storeOf) func(context.Context) (outcome, error) {
	threads := 0
	return func(ctx context.Context) (o outcome, err error) {
		threads++
		results := make([][]byte, n)
		for i := range results {
			if results[i], err = json.Marshal([]string{w.payload.at(i)}); err != nil {
				return o, err
			}
		}
		found, took, err := store(ctx, strconv.Itoa(threads), results)
		if err != nil {
			return o, err
		}
		for _, data := range found {
			var messages []string
			if err := json.Unmarshal(data, &messages); err != nil {
				return o, err
			}
			o.messages = append(o.messages, messages...)
		}
		o.count, o.took = len(found), took
		return o, nil
	}
}

func w8Copy(ctx context.Context, w workload, n int) (s subject, err error) {
	d, err := openDatabase(ctx, nil)
	if err != nil {
		return subject{}, err
	}
	run := storing(w, n, d.copyResults)
	_, err = d.pool.Exec(ctx, `CREATE TABLE `+d.schema+`.result (thread text, task int, data bytea, PRIMARY KEY (thread, task))`)
	if err == nil {
		_, err = run(ctx)
	}
	if err != nil {
		return subject{}, errors.Join(err, d.close())
	}
	return subject{run: run, close: d.close}, nil
}

// copyResults stores results by one COPY.
func (d *database) copyResults(ctx context.Context, thread string, results [][]byte) (found [][]byte, took time.Duration, err error) {
	start := time.Now()
	rows := pgx.CopyFromSlice(len(results), func(i int) ([]any, error) { return []any{thread, i, results[i]}, nil })
	if _, err := d.pool.CopyFrom(ctx, pgx.Identifier{d.name, "result"}, []string{"thread", "task", "data"}, rows); err != nil {
		return nil, 0, err
	}
	took = time.Since(start)
	stored, err := d.pool.Query(ctx, `SELECT data FROM `+d.schema+`.result WHERE thread = $1 ORDER BY task`, thread)
	if err != nil {
		return nil, 0, err
	}
	found, err = pgx.CollectRows(stored, pgx.RowTo[[]byte])
	return found, took, err
}

func w8Transaction(ctx context.Context, w workload, n int) (subject, error) {
	return inFile(ctx, func(path string) (func(context.Context) (outcome, error), func() error, error) {
		db, err := openSQLite(path)
		if err != nil {
			return nil, nil, err
		}
		table := resultTable{db}
		run := storing(w, n, table.store)
		_, err = db.ExecContext(ctx, `CREATE TABLE result (thread TEXT, task INTEGER, data BLOB, PRIMARY KEY (thread, task)) WITHOUT ROWID`)
		if err == nil {
			_, err = run(ctx)
		}
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return run, db.Close, nil
	})
}

// A resultTable is the SQLite table of the floor.
type resultTable struct{ db *sql.DB }

// store stores results in one transaction.
func (t resultTable) store(ctx context.Context, thread string, results [][]byte) (found [][]byte, took time.Duration, err error) {
	start := time.Now()
	if err := t.insert(ctx, thread, results); err != nil {
		return nil, 0, err
	}
	took = time.Since(start)
	rows, err := t.db.QueryContext(ctx, `SELECT data FROM result WHERE thread = ? ORDER BY task`, thread)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, 0, err
		}
		found = append(found, data)
	}
	return found, took, rows.Err()
}

func (t resultTable) insert(ctx context.Context, thread string, results [][]byte) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // It fails after a commit, as it should.
	insert, err := tx.PrepareContext(ctx, `INSERT INTO result (thread, task, data) VALUES (?, ?, ?)`)
	if err != nil {
		return err
	}
	for i, data := range results {
		if _, err := insert.ExecContext(ctx, thread, i, data); err != nil {
			return errors.Join(err, insert.Close())
		}
	}
	return errors.Join(insert.Close(), tx.Commit())
}
