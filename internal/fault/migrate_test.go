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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

func init() {
	// The arguments are URL, SCHEMA and N. The process migrates a schema, and kills itself
	// after write number N to the server. If N is 0, it does not kill itself.
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
			return killingConn{conn, &writes, int32(at)}, err
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

type killingConn struct {
	net.Conn
	writes *atomic.Int32
	at     int32
}

func (c killingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.writes.Add(1) == c.at {
		killSelf()
	}
	return n, err
}

// F20: several processes migrate a schema concurrently, and one of them is killed. The
// other processes do not fail, and every migration is applied once.
func TestF20EachMigrationIsAppliedOnceDespiteAKill(t *testing.T) {
	begin(t)
	address := pgtest.DirectURL(t)
	run := func(schema string, at int) (killed bool, writes int) {
		p, err := fault.Spawn(t.Context(), "migrate", address, schema, fmt.Sprint(at))
		if !assert.NoError(t, err) {
			return false, 0
		}
		line, _ := p.Line()
		killed, err = p.Wait()
		assert.NoError(t, err, "a process failed")
		writes, _ = strconv.Atoi(line) // 0 if the process was killed
		return killed, writes
	}
	_, writes := run(pgtest.Schema(t), 0)
	require.GreaterOrEqual(t, writes, 5, "writes of a migration")
	scripts, err := pgcheckpoint.Scripts("")
	require.NoError(t, err)
	// A process sends fewer writes if other processes are faster, so it may end before the
	// write at which it would kill itself.
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
		assert.Len(t, strings.Fields(applied), len(scripts), "migrations after a kill at write %d", at)
		store := open(t, address, pgcheckpoint.Options{Schema: schema})
		assert.NoError(t, store.Put(t.Context(), step("t", stepID(1), "", "0"), ""), "put")
	}
	assert.NotZero(t, kills, "kills")
	t.Logf("F20: %d processes, %d kill points, %d kills: every migration was applied once", others+1, len(points), kills)
}
