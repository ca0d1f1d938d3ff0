package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/protocolgraphs"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/mcpserver"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// A started server serves the graphs until it is closed.
type started struct {
	url   string
	close func() error
}

// startServer serves the graphs at an address.
func startServer(ctx context.Context, store, address string) (*started, error) {
	k, err := openKept(ctx, store)
	if err != nil {
		return nil, err
	}
	graphs, err := protocolgraphs.New(k.checkpoints)
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	if graphs["talk"], err = talkGraph(graph.Options{Checkpoints: k.checkpoints}); err != nil {
		return nil, errors.Join(err, k.close())
	}
	if graphs["orders"], err = ordersGraph(graph.Options{Checkpoints: k.checkpoints}); err != nil {
		return nil, errors.Join(err, k.close())
	}
	m, err := memory.New(k.memory, memory.Options{})
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	s, err := server.New(server.Options{
		Graphs: graphs, Runs: k.runs, Values: m.Values(),
		Origins:  []string{"*"}, // another server serves the page
		Webhooks: server.Webhooks{Hosts: []string{"127.0.0.1", "localhost"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, HTTP: true},
	})
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(ctx)), k.close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle("/mcp", mcpserver.New(s, mcpserver.Options{}))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	return &started{url: "http://" + listener.Addr().String(), close: func() error {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err := s.Close(stopping)
		err = errors.Join(err, web.Close())
		if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return errors.Join(err, k.close())
	}}, nil
}

// kept holds the stores of a server.
type kept struct {
	checkpoints checkpoint.Store
	runs        runs.Store
	memory      driver.Backend
	close       func() error
}

func openKept(ctx context.Context, store string) (kept, error) {
	switch store {
	case "memory":
		return kept{memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), inmemory.New(inmemory.Options{}), func() error { return nil }}, nil
	case "sqlite":
		return openSQLite(ctx)
	case "postgres":
		return openPostgres(ctx)
	}
	return kept{}, fmt.Errorf("-store=%s: the stores are memory, sqlite and postgres", store)
}

func openSQLite(ctx context.Context) (kept, error) {
	dir, err := os.MkdirTemp("", "weft-clients-")
	if err != nil {
		return kept{}, err
	}
	c, err := sqlitecheckpoint.Open(ctx, filepath.Join(dir, "threads.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return kept{}, errors.Join(err, os.RemoveAll(dir))
	}
	r, err := sqliteruns.Open(ctx, filepath.Join(dir, "runs.db"), sqliteruns.Options{})
	if err != nil {
		return kept{}, errors.Join(err, c.Close(), os.RemoveAll(dir))
	}
	m, err := sqlitememory.Open(ctx, filepath.Join(dir, "memory.db"), sqlitememory.Options{})
	if err != nil {
		return kept{}, errors.Join(err, r.Close(), c.Close(), os.RemoveAll(dir))
	}
	return kept{c, r, m, func() error { return errors.Join(m.Close(), r.Close(), c.Close(), os.RemoveAll(dir)) }}, nil
}

func openPostgres(ctx context.Context) (kept, error) {
	url := os.Getenv("DATABASE_URL")
	if url == "" {
		return kept{}, errors.New("-store=postgres: set DATABASE_URL; scripts/postgres prints one")
	}
	c, err := pgcheckpoint.Open(ctx, url, pgcheckpoint.Options{})
	if err != nil {
		return kept{}, err
	}
	r, err := pgruns.Open(ctx, url, pgruns.Options{})
	if err != nil {
		c.Close()
		return kept{}, err
	}
	m, err := pgmemory.Open(ctx, url, pgmemory.Options{})
	if err != nil {
		r.Close()
		c.Close()
		return kept{}, err
	}
	return kept{c, r, m, func() error { m.Close(); r.Close(); c.Close(); return nil }}, nil
}
