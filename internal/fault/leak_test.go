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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// outcomes lists the possible outcomes of a run of the graph mixed.
var outcomes = []string{"success", "failure", "panic", "cancelled", "left early"}

func init() {
	// The arguments are URL, SCHEMA and RUNS. The process does runs of every outcome. It
	// prints the number of open resources before and after the runs.
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
		before, files, err := openResources()
		if err != nil {
			return err
		}
		if err := mixedRuns(ctx, g, runs); err != nil {
			return err
		}
		// Wait for goroutines that are about to end.
		<-time.After(200 * time.Millisecond)
		after, filesAfter, err := openResources()
		if err != nil {
			return err
		}
		fmt.Println(before, after, files, filesAfter, pool.Stat().AcquiredConns())
		var line string
		_, err = fmt.Scanln(&line) // the parent sends a line after it has counted the connections
		return err
	}
}

// openResources returns the numbers of goroutines and open files.
func openResources() (goroutines, files int, err error) {
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

// mixed returns a graph. The last digit of a thread's id selects the outcome of its runs.
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

// F17: runs of every outcome leave no goroutine, connection, file or lease open.
func TestF17RunsOfEveryOutcomeLeakNothing(t *testing.T) {
	begin(t)
	runs := count(200, 10_000)
	o := newSchema(t)
	open(t, pgtest.DirectURL(t), o)
	p, err := fault.Spawn(t.Context(), "leak", pgtest.DirectURL(t), o.Schema, fmt.Sprint(runs))
	require.NoError(t, err)
	line, _ := p.Line()
	var before, after, files, filesAfter, used int
	if _, err := fmt.Sscan(line, &before, &after, &files, &filesAfter, &used); err != nil {
		_, waitErr := p.Wait()
		require.NoError(t, errors.Join(err, waitErr), "the process printed %q", line)
	}
	conns := pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1`, o.Schema)
	leased := pgtest.Ask[int](t, pgtest.DirectURL(t), `SELECT count(*)::int FROM `+o.Schema+`.cp_thread WHERE owner IS NOT NULL`)
	assert.NoError(t, p.Send("end"), "end")
	_, err = p.Wait()
	assert.NoError(t, err)
	t.Logf("F17: %d runs: goroutines %d, then %d; files %d, then %d; %d connections of 4, %d in use; %d leases",
		runs, before, after, files, filesAfter, conns, used, leased)
	assert.LessOrEqual(t, after, before+2, "goroutines")
	assert.LessOrEqual(t, filesAfter, files+2, "files")
	assert.LessOrEqual(t, conns, 4, "connections")
	assert.Zero(t, used, "connections in use")
	assert.Zero(t, leased, "leases")
}
