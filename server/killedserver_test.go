package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
	"github.com/weft-go/weft/state"
)

// asServer is an environment variable. If it is set, the test binary serves the graphs of
// crashGraphs in the current folder: on a SQLite file there if it is "sqlite", and otherwise on the
// schema "URL SCHEMA" of PostgreSQL.
const asServer = "WEFT_TEST_SERVER"

// These files are in the folder of the server.
const (
	addressFile = "address" // the address of the last server
	effectsFile = "effects" // a line for each effect of graph.Once
)

// serveChild serves until a client asks for the path /quit.
func serveChild(kind string) error {
	ctx := context.Background()
	checkpoints, store, err := childStores(ctx, kind)
	if err != nil {
		return err
	}
	effects, err := os.OpenFile(effectsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	graphs, err := crashGraphs(checkpoints, func(what, key string) {
		// Write the line in one call, so that the end of the process cannot split it.
		if _, werr := effects.WriteString(fmt.Sprintln(what, key, os.Getpid())); werr != nil {
			panic(werr)
		}
	})
	if err != nil {
		return err
	}
	s, err := server.New(server.Options{Graphs: graphs, Runs: store})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(addressFile+".new", []byte(l.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(addressFile+".new", addressFile); err != nil {
		return err
	}
	fmt.Println("serving") // the parent waits for it
	web := &http.Server{ReadHeaderTimeout: time.Minute}
	quit := atomic.Bool{}
	web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quit" {
			quit.Store(true)
			go func() { _ = web.Shutdown(context.Background()) }()
			return
		}
		s.ServeHTTP(w, r)
	})
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return s.Close(ctx)
}

func childStores(ctx context.Context, kind string) (checkpoint.Store, runs.Store, error) {
	if kind == "sqlite" {
		checkpoints, err := sqlitecheckpoint.Open(ctx, "weft.db", sqlitecheckpoint.Options{})
		if err != nil {
			return nil, nil, err
		}
		store, err := sqliteruns.Open(ctx, "runs.db", sqliteruns.Options{})
		return checkpoints, store, err
	}
	url, schema, _ := strings.Cut(kind, " ")
	// The lease of a thread ends a second after the end of its process.
	checkpoints, err := pgcheckpoint.Open(ctx, url, pgcheckpoint.Options{Schema: schema, LeaseTime: time.Second})
	if err != nil {
		return nil, nil, err
	}
	store, err := pgruns.Open(ctx, url, pgruns.Options{Schema: schema})
	return checkpoints, store, err
}

// crashGraphs returns the graphs of the test of killed servers. Each node has an effect, and calls did before and
// after the result of the effect is stored.
func crashGraphs(store checkpoint.Store, did func(what, key string)) (map[string]*graph.Graph, error) {
	lines, tag := state.Append[string]("log"), state.LastWins[string]("tag")
	question := graph.NewInterrupt[string, string]("ask")
	step := func(name string, answer bool) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			key := graph.IdempotencyKey(ctx)
			graph.Emit(ctx, map[string]string{"node": name, "tag": tag.Get(s)})
			line, err := graph.Once(ctx, "effect", func(context.Context) (string, error) {
				did("did", key)
				return tag.Get(s) + ":" + name, nil
			})
			if err != nil {
				return nil, err
			}
			did("stored", key)
			if answer {
				given, err := question.Wait(ctx, "go on?")
				if err != nil {
					return nil, err
				}
				line += ":" + given
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return state.Update{lines.Put(line)}, nil
		}
	}
	out := map[string]*graph.Graph{}
	for name, asks := range map[string]bool{"work": false, "question": true} {
		b := graph.New(name, lines, tag)
		b.Node("first", step("first", false))
		b.Node("left", step("left", false))
		b.Node("right", step("right", asks))
		b.Node("last", step("last", false))
		b.Edge(graph.Start, "first")
		b.Edge("first", "left")
		b.Edge("first", "right")
		b.Join("last", "left", "right")
		b.Edge("last", graph.End)
		g, err := b.Compile(graph.Options{Checkpoints: store})
		if err != nil {
			return nil, err
		}
		out[name] = g
	}
	return out, nil
}
