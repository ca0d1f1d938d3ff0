package riverqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/state"
)

// asReplica is an environment variable. If it is set, the test binary is a replica, and the variable is the folder of its
// configuration.
const asReplica = "WEFT_TEST_REPLICA"

// The files in the folder of a replica.
const (
	configFile  = "config.json"
	addressFile = "address" // the address of the replica while it runs
	effectsFile = "effects" // a line for each effect of graph.Once in any replica
)

// A replicaConfig configures a replica.
type replicaConfig struct {
	Database, Schema string
	Effects          string // the file of effects
	Lease            time.Duration
	MaxRuns          int
	UserRuns         int
	Pause            time.Duration // the largest pause of a node
}

// serveReplica serves until the process gets SIGTERM.
func serveReplica(dir string) error {
	ctx := context.Background()
	data, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return err
	}
	var c replicaConfig
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	config, err := pgcheckpoint.PoolConfig(c.Database, pgcheckpoint.Detect)
	if err != nil {
		return err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	checkpoints, store, err := replicaStores(ctx, pool, &c)
	if err != nil {
		return err
	}
	effects, err := os.OpenFile(c.Effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	g, err := stepsGraph(checkpoints, c.Pause, func(what, key string) {
		// Write the line in one call, so that the end of the process cannot split it.
		if _, werr := effects.WriteString(fmt.Sprintln(what, key, os.Getpid())); werr != nil {
			panic(werr)
		}
	})
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", os.Getpid()) // River's clients log their ids
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"steps": g}, Runs: store, Logger: logger, MaxRuns: c.MaxRuns,
		Queue: riverqueue.New(pool, riverqueue.Options{Schema: c.Schema, Lease: c.Lease, UserRuns: c.UserRuns, Sweep: 5 * time.Second, Logger: logger}),
		Auth:  userOf, Heartbeat: heartbeat,
		Limits: server.Limits{Requests: -1, UserRuns: -1, UserStreams: -1, Streams: -1},
	})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := filepath.Join(dir, addressFile)
	if err := os.WriteFile(address+".new", []byte(l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(address+".new", address); err != nil {
		return err
	}
	fmt.Println("serving") // the parent waits for it
	return s.Serve(ctx, l, nil)
}

func replicaStores(ctx context.Context, pool *pgxpool.Pool, c *replicaConfig) (*pgcheckpoint.Store, *pgruns.Store, error) {
	o := pgcheckpoint.Options{Schema: c.Schema, LeaseTime: c.Lease}
	if err := pgcheckpoint.Migrate(ctx, pool, o); err != nil {
		return nil, nil, err
	}
	checkpoints, err := pgcheckpoint.New(ctx, pool, o)
	if err != nil {
		return nil, nil, err
	}
	if err := pgruns.Migrate(ctx, pool, pgruns.Options{Schema: c.Schema}); err != nil {
		return nil, nil, err
	}
	store, err := pgruns.New(ctx, pool, pgruns.Options{Schema: c.Schema})
	return checkpoints, store, err
}

// userHeader is the header with the user of a request.
const userHeader = "X-Test-User"

func userOf(r *http.Request) (server.User, error) {
	return server.User{ID: r.Header.Get(userHeader)}, nil
}

// heartbeat is the time between two heartbeats of a stream.
const heartbeat = 500 * time.Millisecond

// supersteps is the number of supersteps of a run of stepsGraph.
const supersteps = 12

// stepsGraph returns a graph of one node, which runs as many times as its input says. Each time it has an effect, and
// calls did before and after the result of the effect is stored.
func stepsGraph(store checkpoint.Store, most time.Duration, did func(what, key string)) (*graph.Graph, error) {
	lines, tag, left := state.Append[string]("log"), state.LastWins[string]("tag"), state.LastWins[int]("left")
	b := graph.New("steps", lines, tag, left)
	b.Node("step", func(ctx context.Context, s state.View) (state.Update, error) {
		key, n := graph.IdempotencyKey(ctx), left.Get(s)
		graph.Emit(ctx, map[string]any{"tag": tag.Get(s), "left": n})
		line, err := graph.Once(ctx, "effect", func(context.Context) (string, error) {
			did("did", key)
			return fmt.Sprint(tag.Get(s), ":", n), nil
		})
		if err != nil {
			return nil, err
		}
		did("stored", key)
		select {
		case <-time.After(rand.N(most + 1)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return state.Update{lines.Put(line), left.Put(n - 1)}, nil
	})
	b.Edge(graph.Start, "step")
	b.Branch("step", func(s state.View) (string, error) {
		if left.Get(s) > 0 {
			return "step", nil
		}
		return graph.End, nil
	}, "step", graph.End)
	return b.Compile(graph.Options{Checkpoints: store})
}
