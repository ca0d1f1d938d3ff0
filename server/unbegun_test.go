package server_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// An outage makes calls of stores fail while it is on.
type outage struct{ on atomic.Bool }

func (o *outage) err() error {
	if o.on.Load() {
		return unavailable.New("the database is away")
	}
	return nil
}

// An awayCheckpoints is a store that cannot read during the outage get, and cannot store during the outage put.
type awayCheckpoints struct {
	checkpoint.Store
	get, put *outage
}

func (s *awayCheckpoints) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := s.get.err(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return s.Store.Get(ctx, k)
}

func (s *awayCheckpoints) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if err := s.put.err(); err != nil {
		return err
	}
	return s.Store.Put(ctx, c, head)
}

// An awayRuns is a store that cannot read the log during an outage.
type awayRuns struct {
	runs.Store
	last *outage
}

func (s *awayRuns) Last(ctx context.Context, thread string) (last, first int64, err error) {
	if err := s.last.err(); err != nil {
		return 0, 0, err
	}
	return s.Store.Last(ctx, thread)
}

// If an outage of a store begins before an accepted run has begun, the run is executed after the outage, once and with
// its input.
func TestARunThatHadNotBegunIsExecutedAfterAnOutage(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"the state cannot be read", "the input cannot be stored", "the log cannot be read"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var outages [3]outage
				o := &outages[i]
				var ran atomic.Int32
				log := state.Append[string]("log")
				b := graph.New("once", log)
				b.Node("node", func(_ context.Context, v state.View) (state.Update, error) {
					ran.Add(1)
					return state.Update{log.Put("done")}, nil
				})
				b.Edge(graph.Start, "node")
				g, err := b.Compile(graph.Options{Checkpoints: &awayCheckpoints{memcheckpoint.New(memcheckpoint.Options{}), &outages[0], &outages[1]}})
				require.NoError(t, err)
				s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"once": g}, Runs: &awayRuns{memruns.New(), &outages[2]}})
				require.NoError(t, err)
				defer func() { assert.NoError(t, s.Close(context.Background())) }()
				thread := uuid.New()
				for _, message := range []string{"first", "second"} { // first on a new thread, then on a thread with a state
					ran.Store(0)
					o.on.Store(true)
					w := local(t, s, http.MethodPost, "/threads/"+thread+"/runs", `{"assistant_id":"once","if_not_exists":"create","input":{"log":["`+message+`"]}}`)
					require.Equal(t, http.StatusOK, w.Code, w.Body)
					run := fieldOf(t, w, "run_id").(string)
					time.Sleep(time.Minute)
					assert.Zero(t, ran.Load())
					o.on.Store(false)
					time.Sleep(time.Minute)
					w = local(t, s, http.MethodGet, "/threads/"+thread+"/runs/"+run, "")
					assert.Equal(t, "success", fieldOf(t, w, "status"), w.Body)
					assert.EqualValues(t, 1, ran.Load())
					w = local(t, s, http.MethodGet, "/threads/"+thread+"/state", "")
					assert.Contains(t, w.Body.String(), `"`+message+`","done"]`)
				}
			})
		})
	}
}
