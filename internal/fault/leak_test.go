//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// outcomes are how a run of mixed ends, in turn.
var outcomes = []string{"success", "failure", "panic", "cancelled", "left early"}

func init() {
	// leak URL SCHEMA RUNS does runs of every outcome and tells what is left of them.
	roles["leak"] = func(ctx context.Context, args []string) error {
		runs, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		config, err := pgcheckpoint.PoolConfig(args[0], pgcheckpoint.Direct)
		if err != nil {
			return err
		}
		config.MaxConns, config.MinConns = 4, 4
		config.ConnConfig.RuntimeParams["application_name"] = args[1]
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return err
		}
		defer pool.Close()
		store, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{Schema: args[1]})
		if err != nil {
			return err
		}
		g, err := mixed(store)
		if err != nil {
			return err
		}
		if err := mixedRuns(ctx, g, len(outcomes)); err != nil {
			return err
		}
		before, files, err := left()
		if err != nil {
			return err
		}
		if err := mixedRuns(ctx, g, runs); err != nil {
			return err
		}
		// Those that end by themselves may take a moment.
		<-time.After(200 * time.Millisecond)
		after, filesAfter, err := left()
		if err != nil {
			return err
		}
		fmt.Println(before, after, files, filesAfter, pool.Stat().AcquiredConns())
		var line string
		_, err = fmt.Scanln(&line) // the parent looks at the connections
		return err
	}
}

// left returns how many goroutines and open files there are.
func left() (goroutines, files int, err error) {
	for _, folder := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, e := os.ReadDir(folder)
		if e == nil {
			return runtime.NumGoroutine(), len(entries), nil
		}
		err = e
	}
	return 0, 0, err
}

type cancelKey struct{}

// mixed is a graph whose runs end as the last digit of their thread says.
func mixed(store *pgcheckpoint.Store) (*graph.Graph, error) {
	b := graph.New("mixed", trail)
	b.Node("a", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("a")}, nil })
	b.Node("b", func(ctx context.Context, _ state.View) (state.Update, error) {
		switch at, _ := graph.FromContext(ctx); outcomes[at.Thread[len(at.Thread)-1]-'0'] {
		case "failure":
			return nil, errors.New("made to fail")
		case "panic":
			panic("made to panic")
		case "cancelled":
			ctx.Value(cancelKey{}).(context.CancelFunc)()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return state.Update{trail.Put("b")}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	return b.Compile(graph.Options{Checkpoints: store})
}

func mixedRuns(ctx context.Context, g *graph.Graph, runs int) error {
	errs := make([]error, 4)
	var all sync.WaitGroup
	for w := range errs {
		all.Go(func() {
			for n := w; n < runs && errs[w] == nil; n += len(errs) {
				errs[w] = mixedRun(ctx, g, n)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func mixedRun(ctx context.Context, g *graph.Graph, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx = context.WithValue(ctx, cancelKey{}, cancel)
	kind := n % len(outcomes)
	th := g.Thread(fmt.Sprint("t", n, ".", kind))
	if outcomes[kind] == "left early" {
		for _, err := range th.Stream(ctx, graph.Begin()) {
			return err
		}
		return nil
	}
	_, err := th.Invoke(ctx, graph.Begin())
	if (err == nil) != (outcomes[kind] == "success") {
		return fmt.Errorf("run %d, %s: got error %w", n, outcomes[kind], err)
	}
	return nil
}

// F17: runs of every outcome leave no goroutine, connection, file or lease behind.
func TestF17Leaks(t *testing.T) {
	begin(t)
	runs := count(200, 10_000)
	o := newSchema(t)
	open(t, pgtest.DirectURL(t), o)
	p, err := fault.Spawn(t.Context(), "leak", pgtest.DirectURL(t), o.Schema, fmt.Sprint(runs))
	if err != nil {
		t.Fatal(err)
	}
	line, _ := p.Line()
	var before, after, files, filesAfter, used int
	if _, err := fmt.Sscan(line, &before, &after, &files, &filesAfter, &used); err != nil {
		_, waitErr := p.Wait()
		t.Fatalf("it says %q: %v", line, errors.Join(err, waitErr))
	}
	conns := pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1`, o.Schema)
	leased := pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM `+o.Schema+`.cp_thread WHERE owner IS NOT NULL`)
	wantNoErr(t, "end", p.Tell("end"))
	if _, err := p.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("F17: %d runs: goroutines %d, then %d; files %d, then %d; %d connections of 4, %d in use; %d leases",
		runs, before, after, files, filesAfter, conns, used, leased)
	if after > before+2 || filesAfter > files+2 || conns > 4 || used != 0 || leased != 0 {
		t.Error("something is left behind")
	}
}
