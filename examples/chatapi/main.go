// Chatapi serves conversations with a memory. The memory has the conversations, the facts that users ask
// it to remember, the facts that it learns from conversations, and documents.
//
//	go run ./examples/chatapi
//	go run ./examples/chatapi ingest docs
//
// Read internal/chat for the graph, internal/api for the routes of the application, and internal/store for
// the stores and their environment variables.
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
	"sync"
	"syscall"
	"time"

	"github.com/weft-go/weft/examples/chatapi/internal/api"
	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/graph"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // registers every provider
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/ui"
)

// config holds the values of the flags and of the environment.
type config struct {
	store       store.Config
	address     string
	hosts       []string
	drain, pace time.Duration
	learn       bool
}

func main() {
	var c config
	flag.StringVar(&c.address, "addr", "127.0.0.1:8083", "the `address` to listen on")
	flag.Func("host", "another `name` by which clients reach the server; may be repeated", func(name string) error {
		c.hosts = append(c.hosts, name)
		return nil
	})
	flag.StringVar(&c.store.Folder, "data", "chatapi-data", "the `folder` of the SQLite files, unless the environment names a database; empty keeps nothing")
	flag.StringVar(&c.store.Schema, "schema", "", "the `schema` in the database (default weft)")
	flag.DurationVar(&c.store.Lease, "lease", 10*time.Second, "how long a run whose process died holds its session, in a database")
	flag.DurationVar(&c.drain, "drain", 10*time.Second, "how long the program may learn at its end what users have said")
	flag.DurationVar(&c.pace, "pace", 12*time.Millisecond, "how long the offline model takes for a word")
	flag.BoolVar(&c.learn, "learn", true, "learn facts from what users say")
	prune := flag.Bool("prune", false, "ingest removes documents that are no longer in the folder")
	flag.Usage = usage
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	var err error
	if c.store, err = c.store.Read(os.Getenv); err == nil {
		switch {
		case flag.NArg() == 0:
			err = serve(ctx, c)
		case flag.Arg(0) == "ingest" && flag.NArg() == 2:
			err = ingest(ctx, c, flag.Arg(1), *prune, os.Stdout)
		default:
			usage()
			os.Exit(2)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chatapi:", err)
		os.Exit(1)
	}
}

func usage() {
	fmt.Fprint(flag.CommandLine.Output(), "chatapi [flags]                 serve\nchatapi [flags] ingest FOLDER   take documents in\n")
	flag.PrintDefaults()
}

func serve(ctx context.Context, c config) error {
	o, name, err := open(ctx, c)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	defer l.Close()
	stores, err := store.Open(ctx, c.store)
	if err != nil {
		return err
	}
	s, err := chat.New(stores, o)
	if err != nil {
		return errors.Join(err, stores.Close())
	}
	fmt.Printf("model: %s\nstore: %s\nhttp://%s\n", name, c.store, l.Addr())
	return errors.Join(run(ctx, c, s, stores.Runs, o.Logger, l), stores.Close())
}

// docs:begin run
// run serves until the context ends. Then the server's runs stop after their superstep, and the next
// process continues them. Finally, run learns the queued turns, for at most c.drain.
func run(ctx context.Context, c config, s *chat.Service, records runs.Store, logger *slog.Logger, l net.Listener) error {
	to, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"chat": s.Graph()},
		Runs:   records,
		Chat: &ui.Chat{
			Title: "Chat", Greeting: "A conversation that remembers: what you tell it, and what your documents say.",
			Placeholder: "Remember that my dog is called Rex",
			Suggestions: []string{"Remember that my dog is called Rex", "What is my dog called?", "What do you know about me?", "Forget my dog"},
			Tools:       s.Tools(),
			Memory:      "/api/memories",
			SignIn:      true, // a caller without a token is a user, too
		},
		Studio:   &ui.Studio{Write: true},
		Auth:     api.Caller,
		Hosts:    append([]string{"127.0.0.1", "::1", "localhost"}, c.hosts...),
		Limits:   server.Limits{Requests: 1000}, // a caller may be a service with many users
		OnDelete: s.Forget,
		Logger:   logger,
	})
	if err != nil {
		return err
	}
	api.Handle(to, s)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.Work(working) })
	err = to.Serve(ctx, l, nil)
	s.Drain(c.drain)
	stop()
	work.Wait()
	return err
}

// docs:end
