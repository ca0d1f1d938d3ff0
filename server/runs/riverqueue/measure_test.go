//go:build unix

package riverqueue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/uuid"
)

// measured starts replicas without faults, and returns their clients and the schema. A node pauses for at most the time
// pause.
func measured(t *testing.T, replicas int, pause time.Duration) (*clients, string) {
	t.Helper()
	schema, effects := pgtest.Schema(t), filepath.Join(t.TempDir(), effectsFile)
	configs := make([]replicaConfig, replicas)
	for i := range configs {
		configs[i] = replicaConfig{Database: pgtest.DirectURL(t), Schema: schema, Effects: effects, Lease: 10 * time.Second, MaxRuns: 64, Pause: pause}
	}
	ctx, end := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	t.Cleanup(func() {
		end()
		ended.Wait()
	})
	return newClients(t, startProcesses(ctx, t, &ended, configs...)), schema
}

// one executes a run on a new thread and waits for its end.
func (c *clients) one(ctx context.Context, user string) error {
	resp, err := c.do(ctx, user, http.MethodPost, "/threads/"+uuid.New()+"/runs/wait", map[string]any{
		"assistant_id": "steps", "input": map[string]any{"tag": "x", "left": supersteps}, "if_not_exists": "create",
	}, http.Header{})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body) // the response begins before the run has ended
	return errors.Join(err, resp.Body.Close())
}

// flood begins runs of one user without waiting for them.
func (c *clients) flood(ctx context.Context, runs int) {
	var all sync.WaitGroup
	const senders = 20
	for range senders {
		all.Go(func() {
			for range runs / senders {
				_, err := c.post(ctx, "flooder", "/runs", map[string]any{
					"assistant_id": "steps", "input": map[string]any{"tag": "x", "left": supersteps}, "on_completion": "keep",
				})
				assert.NoError(c.t, err)
			}
		})
	}
	all.Wait()
}

// The test measures how many runs one and two replicas execute in a second. The log has the results.
func TestThroughputOfReplicas(t *testing.T) {
	runs := max(fullRuns(t)/5, shortRuns)
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			c, _ := measured(t, replicas, 0)
			begun := time.Now()
			slots := make(chan struct{}, atOnce)
			var all sync.WaitGroup
			for i := range runs {
				slots <- struct{}{}
				all.Go(func() {
					defer func() { <-slots }()
					assert.NoError(t, c.one(t.Context(), fmt.Sprint("user", i%testUsers)))
				})
			}
			all.Wait()
			t.Logf("%d replicas: %d runs of %d supersteps, %.0f a second", replicas, runs, supersteps, float64(runs)/time.Since(begun).Seconds())
		})
	}
}

// One of many users floods the queue. The log has the waits of the runs of the other users.
func TestFloodedQueueWaits(t *testing.T) {
	users, flood, each := 20, 60, 2
	if fullRuns(t) > 0 {
		users, flood, each = 200, 1000, 2
	}
	for _, flooded := range []bool{false, true} {
		t.Run(fmt.Sprint("flooded ", flooded), func(t *testing.T) {
			c, schema := measured(t, 2, testPause)
			ctx := t.Context()
			if flooded {
				c.flood(ctx, flood)
			}
			var all sync.WaitGroup
			for i := range users - 1 {
				all.Go(func() {
					for n := range each {
						if n > 0 { // the pause of a user between two runs
							<-time.After(time.Second)
						}
						assert.NoError(t, c.one(ctx, fmt.Sprint("user", i)))
					}
				})
			}
			all.Wait()
			waits, others := queueWaits(t, schema)
			require.Len(t, others, (users-1)*each)
			t.Logf("flooded %v: %d runs of %d users waited p50 %v, p99 %v, max %v; %d runs of the flooder had begun, and waited p50 %v",
				flooded, len(others), users-1, percentile(others, 50), percentile(others, 99), percentile(others, 100), len(waits), percentile(waits, 50))
		})
	}
}

// queueWaits returns the waits of the runs of the flooder and of the others, shortest first.
func queueWaits(t *testing.T, schema string) (flooder, others []time.Duration) {
	t.Helper()
	conn := pgtest.Connect(t, pgtest.DirectURL(t))
	rows, err := conn.Query(t.Context(), `SELECT owner = 'flooder', extract(epoch FROM (convert_from(data, 'UTF8')::jsonb->>'Began')::timestamptz - created)::float8
		FROM `+pgx.Identifier{schema, "run_record"}.Sanitize()+` WHERE kind = 'run' AND convert_from(data, 'UTF8')::jsonb->>'Began' IS NOT NULL`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var isFlooder bool
		var wait float64
		require.NoError(t, rows.Scan(&isFlooder, &wait))
		d := time.Duration(wait * float64(time.Second)).Round(time.Millisecond)
		if isFlooder {
			flooder = append(flooder, d)
		} else {
			others = append(others, d)
		}
	}
	require.NoError(t, rows.Err())
	slices.Sort(flooder)
	slices.Sort(others)
	return flooder, others
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*p/100]
}
