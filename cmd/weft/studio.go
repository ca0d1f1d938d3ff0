package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
)

const studioUsage = `usage: weft studio -db FILE [flags]

Opens the studio over a store: a page with the threads, their states and history, their open
questions and, if a server has stored them, their runs. It has the facts of a memory in the same
database, or in the one that -memory names. The store is only read unless -write is
given. The page has no password, and so only this machine can reach it.
`

// studioOptions are the flags of the command.
type studioOptions struct {
	source source
	listen string
	memory string // the database of the memory; empty means the database of the store
	write  bool
}

func runStudio(ctx context.Context, args []string, std *streams) error {
	o, err := parseStudio(args, std)
	if err != nil {
		return err
	}
	db, err := o.source.opened(ctx, o.source.keys)
	if err != nil {
		return err
	}
	return errors.Join(o.serveWithMemory(ctx, db, std), db.close())
}

func parseStudio(args []string, std *streams) (*studioOptions, error) {
	c := newCall(std, studioUsage).ofDatabase()
	o := &studioOptions{}
	c.flags.StringVar(&o.listen, "listen", "127.0.0.1:8124", "`ADDRESS` on this machine; port 0 chooses a free one")
	c.flags.StringVar(&o.memory, "memory", "", "the path of a SQLite `FILE` with a memory, or the URL of a PostgreSQL database (default that of -db)")
	c.flags.BoolVar(&o.write, "write", false, "allow to rename, copy, prune and delete threads")
	if err := c.parse(args); err != nil {
		return nil, err
	}
	o.source = c.source
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, fmt.Errorf("%w: -listen: %w", errUsage, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%w: -listen is %q; the studio has no password, and so it listens on this machine only, such as on 127.0.0.1", errUsage, o.listen)
	}
	return o, nil
}

// serveWithMemory opens the memory, and serves the studio with the store and the memory.
func (o *studioOptions) serveWithMemory(ctx context.Context, db *store, std *streams) error {
	from := o.source.address
	if o.memory != "" {
		from = address{db: o.memory, schema: o.source.schema}
	}
	facts, end, err := from.openMemory(ctx)
	if err != nil {
		return err
	}
	if facts == nil && o.memory != "" {
		return fmt.Errorf("the database of -memory has no memory")
	}
	return errors.Join(o.serve(ctx, db, facts, std), end())
}

// serve serves the studio until ctx ends.
func (o *studioOptions) serve(ctx context.Context, db *store, facts *memory.Memory, std *streams) error {
	logger := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelError}))
	s, err := server.New(server.Options{
		Runs: db.runs, Stored: db.checkpoints, Memory: facts, ReadOnly: !o.write, Studio: &ui.Studio{Write: o.write}, Logger: logger,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.Handle("GET /{$}", http.RedirectHandler("/studio/", http.StatusFound))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	mode := "read-only; -write allows changes"
	if o.write {
		mode = "threads can be renamed, copied, pruned and deleted"
	}
	say(std.out, "http://%s/studio/  (%s)", listener.Addr(), mode)
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
		err = nil
	}
	_ = web.Close() // event streams do not end by themselves
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, s.Close(closing))
}
