// Csvanalyst answers questions about CSV files that users upload: on a chat page, in the protocol of
// LangGraph Server, and by routes of its own.
//
//	go run ./examples/csvanalyst
//
// Read internal/analyst/graph.go for the graph, internal/api for the routes, and internal/csvdb for the import of
// CSV files and the queries in SQL.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/analyst"
	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
)

// config has the settings from the flags and the environment.
type config struct {
	address, folder, database, schema string
	hosts                             []string
	maxUpload                         int64
	limits                            records.Limits
	rules                             bool // no language model answers
	pace                              time.Duration
	logger                            *slog.Logger
}

func main() {
	c := config{database: os.Getenv("DATABASE_URL"), logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flag.StringVar(&c.address, "addr", "127.0.0.1:8082", "the `address` to listen on")
	flag.Func("host", "a `name` under which clients reach the program, besides those of this machine; may be repeated", func(name string) error {
		c.hosts = append(c.hosts, name)
		return nil
	})
	flag.StringVar(&c.folder, "data", "csvanalyst-data", "the `folder` of the files, and of the databases unless DATABASE_URL is set")
	flag.StringVar(&c.schema, "schema", "csvanalyst", "the `schema` in the database of DATABASE_URL")
	flag.Int64Var(&c.maxUpload, "max-upload", 2<<30, "the maximum `bytes` of an upload")
	flag.IntVar(&c.limits.Files, "max-files", 20, "the maximum `number` of files of a conversation")
	flag.IntVar(&c.limits.Sessions, "max-sessions", 1000, "the maximum `number` of conversations of a user")
	flag.Int64Var(&c.limits.Bytes, "max-stored", 20<<30, "the maximum `bytes` of all files together, besides their databases")
	flag.DurationVar(&c.pace, "pace", 12*time.Millisecond, "the time that the offline model takes for a word")
	flag.Parse()
	if err := run(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "csvanalyst:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or the process gets a signal.
func run(ctx context.Context, c config) error {
	model, name, err := models.Open(ctx, gemini(os.Getenv), offline.Model{Pace: c.pace})
	if err != nil {
		return err
	}
	c.rules = name == models.Offline
	l, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	defer l.Close()
	s, finish, err := open(ctx, c, model)
	if err != nil {
		return err
	}
	fmt.Printf("model:  %s\nchat:   http://%s/chat/\nstudio: http://%s/studio/\n", name, l.Addr(), l.Addr())
	return errors.Join(s.Serve(ctx, l, nil), finish())
}

// open opens the stores, and returns the server and a function that closes the stores.
func open(ctx context.Context, c config, model llm.Model) (*server.Server, func() error, error) {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, nil, err
	}
	st, err := openStores(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	s, err := serve(c, st, model)
	if err != nil {
		return nil, nil, errors.Join(err, st.close())
	}
	return s, st.close, nil
}

// docs:begin serve
// serve returns a server of the conversation, with the routes of the application.
func serve(c config, st *stores, model llm.Model) (*server.Server, error) {
	st.records.Limits = c.limits
	uploads, err := files.Open(c.folder, st.records)
	if err != nil {
		return nil, err
	}
	service, err := analyst.New(model, st.records, uploads, st.checkpoints)
	if err != nil {
		return nil, err
	}
	conversation, err := service.Conversation()
	if err != nil {
		return nil, err
	}
	s, err := server.New(server.Options{
		Graphs: map[string]*graph.Graph{"csvanalyst": conversation},
		Runs:   st.runs,
		Chat: &ui.Chat{
			Title:       "CSV analyst",
			Greeting:    greeting(c.rules),
			Suggestions: []string{"What columns are there?", "How many rows are there?", "Show the first 10 rows"},
			Placeholder: "What is the total amount by city?",
			Tools:       service.Tools(),
			Attach:      true,
			Upload:      "/api/files",
			Accept:      ".csv,.tsv,.txt,text/csv",
		},
		Studio: &ui.Studio{Write: true},
		Auth:   api.Caller,
		Hosts:  append([]string{"127.0.0.1", "::1", "localhost"}, c.hosts...),
		OnDelete: func(ctx context.Context, thread string) error {
			return uploads.DeleteSession(ctx, thread)
		},
		Logger: c.logger,
	})
	if err != nil {
		return nil, err
	}
	routes := api.Routes{Service: service, Records: st.records, Files: uploads, Runs: st.runs, MaxUpload: c.maxUpload}
	routes.Handle(s)
	return s, nil
}

// docs:end
