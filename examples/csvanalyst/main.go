// Csvanalyst answers questions about CSV files that users upload, over HTTP and on a
// page.
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
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/analyst"
	"github.com/weft-go/weft/examples/csvanalyst/internal/api"
	"github.com/weft-go/weft/examples/csvanalyst/internal/files"
	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/examples/internal/web"
	"github.com/weft-go/weft/llm"
)

// config is what flags and the environment say.
type config struct {
	address, folder, database, schema string
	maxUpload                         int64
	drain, pace                       time.Duration
}

func main() {
	c := config{database: os.Getenv("DATABASE_URL")}
	flag.StringVar(&c.address, "addr", "127.0.0.1:8082", "the `address` to listen on")
	flag.StringVar(&c.folder, "data", "csvanalyst-data", "the `folder` of the files, and of the databases unless DATABASE_URL is set")
	flag.StringVar(&c.schema, "schema", "csvanalyst", "the `schema` in the database of DATABASE_URL")
	flag.Int64Var(&c.maxUpload, "max-upload", 2<<30, "how many `bytes` an upload may have")
	flag.DurationVar(&c.drain, "drain", 10*time.Second, "how long runs may take to finish when the program ends")
	flag.DurationVar(&c.pace, "pace", 12*time.Millisecond, "how long the offline model takes for a word")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "csvanalyst:", err)
		os.Exit(1)
	}
}

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
	fmt.Printf("model: %s\nhttp://%s\n", name, l.Addr())
	return errors.Join(web.Server{Handler: s.Handler(), Logger: s.Logger, Drain: c.drain}.Run(ctx, l), finish())
}

// open opens the stores and compiles the graph.
func open(ctx context.Context, c config, model llm.Model) (*api.Server, func() error, error) {
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return nil, nil, err
	}
	store, closeStore, err := openCheckpoints(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	db, err := openRecords(ctx, c)
	if err != nil {
		return nil, nil, errors.Join(err, closeStore())
	}
	finish := func() error { return errors.Join(db.Close(), closeStore()) }
	uploads, err := files.Open(c.folder, db)
	if err != nil {
		return nil, nil, errors.Join(err, finish())
	}
	service, err := analyst.New(model, db, uploads, store)
	if err != nil {
		return nil, nil, errors.Join(err, finish())
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	return &api.Server{Service: service, Records: db, Files: uploads, MaxUpload: c.maxUpload, Logger: logger}, finish, nil
}

func openCheckpoints(ctx context.Context, c config) (checkpoint.Store, func() error, error) {
	if c.database != "" {
		store, err := pgcheckpoint.Open(ctx, c.database, pgcheckpoint.Options{Schema: c.schema, LeaseTime: 5 * time.Second})
		if err != nil {
			return nil, nil, err
		}
		return store, func() error { store.Close(); return nil }, nil
	}
	store, err := sqlitecheckpoint.Open(ctx, filepath.Join(c.folder, "checkpoints.db"), sqlitecheckpoint.Options{})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

func openRecords(ctx context.Context, c config) (*records.DB, error) {
	if c.database != "" {
		return records.OpenPostgres(ctx, c.database, c.schema)
	}
	return records.OpenSQLite(ctx, filepath.Join(c.folder, "records.db"))
}

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
