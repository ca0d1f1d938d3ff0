package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

const (
	// schemaBefore is the number of migrations before the one that is measured.
	schemaBefore = 4
	// nodes is the number of nodes at which threads wait or have failed.
	nodes = 10
	// batch is the number of threads that one statement copies.
	batch = 50_000
)

var (
	messages = state.Append[string]("messages")
	kind     = state.Last[string]("kind")
	approve  = graph.NewInterrupt[string, bool]("approve")
	errDown  = errors.New("the mail server does not answer")
)

// newGraph returns a graph in which three nodes run. The channel kind selects the last one,
// which sends, asks or fails.
func newGraph(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("desk", messages, kind)
	say := func(who string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{messages.Put(who + ": " + strings.Repeat("The order has left the warehouse. ", 8))}, nil
		}
	}
	b.Node("read", say("read"))
	b.Node("draft", say("draft"))
	b.Node("send", say("send"))
	targets := []string{"send"}
	for i := range nodes {
		ask, fail := fmt.Sprint("review", i), fmt.Sprint("mail", i)
		b.Node(ask, func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := approve.Wait(ctx, "Send this answer?")
			return nil, err
		})
		b.Node(fail, func(context.Context, state.View) (state.Update, error) { return nil, errDown })
		targets = append(targets, ask, fail)
	}
	b.Edge(graph.Start, "read")
	b.Edge("read", "draft")
	b.Branch("draft", func(v state.View) (string, error) { return kind.Get(v), nil }, targets...)
	return b.Compile(graph.Options{Checkpoints: store})
}

// generate makes threads in the stored form of schemaBefore. It runs a graph for each kind of thread,
// and copies the rows of these threads. Of a hundred threads, two have failed, spread over ten nodes,
// and eight wait, spread over ten other nodes. The times of their creation are spread over the last
// 60 days.
func (p *place) generate(ctx context.Context, threads int) error {
	if err := p.makeTemplates(ctx); err != nil {
		return err
	}
	if err := p.exec(ctx, `CREATE SCHEMA `+p.schema); err != nil {
		return err
	}
	scripts, err := pgcheckpoint.Scripts(p.schema)
	if err != nil {
		return err
	}
	for _, s := range scripts[:schemaBefore] {
		if _, err := p.pool.Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	for first := 0; first < threads; first += batch {
		if err := p.copyThreads(ctx, first, min(first+batch, threads), threads); err != nil {
			return err
		}
		p.progress("%d threads", min(first+batch, threads))
	}
	_, err = p.pool.Exec(ctx, p.sql(`VACUUM ANALYZE weft.cp_thread, weft.cp_step, weft.cp_origin, weft.cp_write`), pgx.QueryExecModeSimpleProtocol)
	return err
}

func (p *place) makeTemplates(ctx context.Context) error {
	o := pgcheckpoint.Options{Schema: p.template}
	if err := pgcheckpoint.Migrate(ctx, p.pool, o); err != nil {
		return err
	}
	store, err := pgcheckpoint.New(ctx, p.pool, o)
	if err != nil {
		return err
	}
	g, err := newGraph(store)
	if err != nil {
		return err
	}
	kinds := []string{"send"}
	for i := range nodes {
		kinds = append(kinds, fmt.Sprint("review", i), fmt.Sprint("mail", i))
	}
	for _, k := range kinds {
		if _, err := g.Thread(k).Invoke(ctx, kind.Put(k), messages.Put("user: Where is my order?")); err != nil && !errors.Is(err, errDown) {
			return err
		}
	}
	return nil
}

// copyThreads makes the threads from number first up to, but not including, number last.
func (p *place) copyThreads(ctx context.Context, first, last, all int) error {
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		for _, text := range []string{
			fmt.Sprintf(`CREATE TEMP TABLE made ON COMMIT DROP AS
			SELECT n, substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-7000-8000-' || substr(md5(n::text), 1, 12) AS id,
			now() - interval '60 days' * (1 - n::float8 / %d) AS at,
			CASE WHEN n %% 100 < 2 THEN 'mail' || n / 100 %% %d WHEN n %% 100 < 10 THEN 'review' || n / 100 %% %[2]d ELSE 'send' END AS kind
			FROM (SELECT n, lpad(to_hex(n), 12, '0') AS h FROM generate_series(%d, %d) n)`, all, nodes, first, last-1),
			`INSERT INTO weft.cp_thread (tenant, id, created, seq, steps, epoch, head, digest, highest, at, newest, parent, branch, root, origin)
			SELECT '', m.id, m.at, t.seq, t.steps, t.epoch, t.head, t.digest, t.highest, m.at, t.newest, t.parent, t.branch, t.root, t.origin
			FROM made m JOIN template.cp_thread t ON t.id = m.kind ORDER BY n`,
			`CREATE TEMP TABLE source ON COMMIT DROP AS SELECT k.key, t.key AS template, m.at FROM made m
			JOIN weft.cp_thread k ON k.tenant = '' AND k.id = m.id JOIN template.cp_thread t ON t.id = m.kind`,
			`INSERT INTO weft.cp_origin (thread, key, digest, run, version, meta)
			SELECT c.key, o.key, o.digest, o.run, o.version, o.meta FROM source c JOIN template.cp_origin o ON o.thread = c.template ORDER BY c.key`,
			`INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole, id, source, name, control, changes, snapshot, base)
			SELECT c.key, c.at, s.step, s.seq, s.parent, s.branch, s.root, s.space, s.origin, s.epoch, s.whole, s.id, s.source, s.name, s.control, s.changes, s.snapshot, s.base
			FROM source c JOIN template.cp_step s ON s.thread = c.template ORDER BY c.key, s.seq`,
			`INSERT INTO weft.cp_write (thread, seq, task, number, data)
			SELECT c.key, w.seq, w.task, w.number, w.data FROM source c JOIN template.cp_write w ON w.thread = c.template ORDER BY c.key`,
		} {
			if _, err := tx.Exec(ctx, p.sql(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// migrate applies the later migrations, and measures for how long an update of a thread waits.
func (p *place) migrate(ctx context.Context) error {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var longest time.Duration
	var failed error
	wg.Go(func() {
		for n := int64(1); stop.Err() == nil; n++ {
			begin := time.Now()
			if err := p.exec(ctx, `UPDATE weft.cp_thread SET seq = seq WHERE key = $1`, 100*(n%1000)+50); err != nil {
				failed = err
				return
			}
			longest = max(longest, time.Since(begin))
		}
	})
	begin := time.Now()
	if err := pgcheckpoint.Migrate(ctx, p.pool, pgcheckpoint.Options{Schema: p.schema}); err != nil {
		return err
	}
	took := time.Since(begin)
	cancel()
	wg.Wait()
	if failed != nil {
		return failed
	}
	fmt.Printf("The migrations from schema %d took %.1f s. The longest update of a thread that did not wait took %s.\n\n",
		schemaBefore, took.Seconds(), milliseconds(longest))
	_, err := p.pool.Exec(ctx, p.sql(`VACUUM ANALYZE weft.cp_open, weft.cp_thread`), pgx.QueryExecModeSimpleProtocol)
	return err
}
