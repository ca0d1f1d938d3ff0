// Research reads a document that a user wants to respond to, such as a request for proposals, and summarizes it by
// topic. Then it answers questions about the document. It serves a page and an API, and keeps the data of users apart.
//
//	go run ./examples/research
//
// Read internal/research for the graph, internal/api for the endpoints, internal/desk for the runs of sessions, and
// internal/account for the storage of users' data: SQLite, PostgreSQL, or a Supabase project under row-level
// security.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/examples/internal/tracing"
	"github.com/weft-go/weft/examples/research/internal/account"
	"github.com/weft-go/weft/examples/research/internal/api"
	"github.com/weft-go/weft/examples/research/internal/desk"
	"github.com/weft-go/weft/examples/research/internal/document"
	"github.com/weft-go/weft/examples/research/internal/offline"
)

// config has the values of the flags.
type config struct {
	address, folder, schema, user string
	token, migrated               bool
	keep, pace                    time.Duration
	hosts                         []string
}

func main() {
	var c config
	flag.StringVar(&c.address, "addr", "127.0.0.1:8084", "the `address` to listen on")
	flag.StringVar(&c.folder, "data", "research-data", "the `folder` of documents, and of the databases where the environment names none")
	flag.StringVar(&c.schema, "schema", "research", "the `schema` in the database of DATABASE_URL")
	flag.BoolVar(&c.token, "token", false, "print a token, and end; not for a Supabase project")
	flag.StringVar(&c.user, "user", "ann", "the `user` that the token is for")
	flag.BoolVar(&c.migrated, "migrated", false, "the Supabase project applies the migrations by itself")
	flag.DurationVar(&c.keep, "keep", 30*24*time.Hour, "how long sessions and documents are kept after they were last used")
	flag.Func("host", "another `name` by which clients reach the server; may be repeated", func(name string) error {
		c.hosts = append(c.hosts, name)
		return nil
	})
	flag.DurationVar(&c.pace, "pace", 12*time.Millisecond, "how long the offline model takes for a word")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "research:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if c.token {
		return printToken(c)
	}
	s := &server{Server: api.Server{Desk: desk.Desk{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}}}
	var name string
	if s.Model, name, err = models.Open(ctx, os.Getenv, offline.Model{Pace: c.pace}); err != nil {
		return err
	}
	if s.Tracing, err = tracing.Open(ctx, os.Getenv); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Tracing.Close()) }()
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	defer l.Close()
	if s.Documents, err = document.OpenFolder(filepath.Join(c.folder, "documents")); err != nil {
		return err
	}
	defer s.Documents.Close()
	kept, err := s.open(ctx, c)
	if err != nil {
		return err
	}
	served, err := s.Open()
	if err != nil {
		return errors.Join(err, s.close())
	}
	fmt.Printf("model: %s\nkept in: %s\nhttp://%s/chat/\n", name, kept, l.Addr())
	var background sync.WaitGroup
	background.Go(func() { s.cleanUp(ctx, c.keep) })
	err = served.Serve(ctx, l, s.Handler())
	stop()
	background.Wait()
	return errors.Join(err, s.close())
}

// printToken prints a token with which a user signs in to the local program.
func printToken(c config) error {
	if account.Configured() {
		return errors.New("a Supabase project gives its users their tokens")
	}
	secret, err := account.Secret(c.folder)
	if err != nil {
		return err
	}
	token, err := account.Sign(secret, c.user, 24*time.Hour)
	if err == nil {
		fmt.Println(token)
	}
	return err
}
