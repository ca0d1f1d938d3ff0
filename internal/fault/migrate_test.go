//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

func init() {
	// migrate URL SCHEMA N migrates a schema, and dies when it has sent something for the
	// n-th time.
	roles["migrate"] = func(ctx context.Context, args []string) error {
		at, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		config, err := pgcheckpoint.PoolConfig(args[0], pgcheckpoint.Direct)
		if err != nil {
			return err
		}
		config.MaxConns = 1
		var writes atomic.Int32
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return mortalConn{conn, &writes, int32(at)}, err
		}
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return err
		}
		defer pool.Close()
		if err := pgcheckpoint.Migrate(ctx, pool, pgcheckpoint.Options{Schema: args[1]}); err != nil {
			return err
		}
		fmt.Println(writes.Load())
		return nil
	}
}

type mortalConn struct {
	net.Conn
	writes *atomic.Int32
	at     int32
}

func (c mortalConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.writes.Add(1) == c.at {
		die()
	}
	return n, err
}

// F20: twenty processes migrate at once, and one of them is killed midway. The others do
// not fail, and each migration is applied once; another process finds nothing to do.
func TestF20MigrationCutShort(t *testing.T) {
	begin(t)
	address := pgtest.DirectURL(t)
	run := func(schema string, at int) (killed bool, writes int) {
		p, err := fault.Spawn(t.Context(), "migrate", address, schema, fmt.Sprint(at))
		if err != nil {
			t.Error(err)
			return false, 0
		}
		line, _ := p.Line()
		killed, err = p.Wait()
		if err != nil {
			t.Errorf("a process failed: %v", err)
		}
		writes, _ = strconv.Atoi(line) // none, of one that was killed
		return killed, writes
	}
	_, writes := run(pgtest.Schema(t), 0)
	if writes < 5 {
		t.Fatalf("to migrate took %d writes", writes)
	}
	scripts, err := pgcheckpoint.Scripts("")
	if err != nil {
		t.Fatal(err)
	}
	// Where the others are quicker, a process has less to write, and is not killed.
	points, others := slices.Repeat([]int{writes / 2}, 6), 5
	if long() {
		points, others = nil, 19
		for at := 1; at <= writes; at++ {
			points = append(points, at)
		}
	}
	kills := 0
	for _, at := range points {
		schema := pgtest.Schema(t)
		var all sync.WaitGroup
		all.Go(func() {
			if killed, _ := run(schema, at); killed {
				kills++
			}
		})
		for range others {
			all.Go(func() { run(schema, 0) })
		}
		all.Wait()
		applied := pgtest.Ask[string](t, address, `SELECT string_agg(name, ' ' ORDER BY version) FROM `+schema+`.cp_migration`)
		if n := len(strings.Fields(applied)); n != len(scripts) {
			t.Errorf("killed at write %d: applied were %s", at, applied)
		}
		store := open(t, address, pgcheckpoint.Options{Schema: schema})
		wantNoErr(t, "put", store.Put(t.Context(), step("t", stepID(1), "", "0"), ""))
	}
	if kills == 0 {
		t.Error("no process was killed")
	}
	t.Logf("F20: %d processes, one of them to be killed at each of %d points, and %d were: every migration applied once", others+1, len(points), kills)
}
