// Csvanalyst answers questions about CSV files that users upload: on a chat page, in the protocol of
// LangGraph Server, and by routes of its own.
//
//	go run ./examples/csvanalyst
//
// Read internal/analyst for the graph and how it is run and streamed, internal/api for the
// endpoints, and the other folders of internal for what is CSV and SQL.
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
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/ui"
)

// config is what flags and the environment say.
type config struct {
	address, folder, database, schema string
	hosts                             []string
	maxUpload                         int64
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
	flag.Int64Var(&c.maxUpload, "max-upload", 2<<30, "how many `bytes` an upload may have")
	flag.DurationVar(&c.pace, "pace", 12*time.Millisecond, "how long the offline model takes for a word")
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
			Greeting:    "Attach CSV files, then ask about them. Every figure comes from the file.",
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

// gemini reads the environment, in which a key in LLM_API_KEY alone is one for Gemini.
func gemini(getenv func(string) string) func(string) string {
	for _, name := range []string{"LLM_PROVIDER", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"} {
		if getenv(name) != "" {
			return getenv
		}
	}
	return func(name string) string {
		if name == "LLM_PROVIDER" && getenv("LLM_API_KEY") != "" {
			return "googleai"
		}
		return getenv(name)
	}
}
