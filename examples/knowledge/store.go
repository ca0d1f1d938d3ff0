package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// openStore opens the database that DATABASE_URL names, or else a file.
func openStore(ctx context.Context, path string) (driver.Backend, func(), error) {
	if address := os.Getenv("DATABASE_URL"); address != "" {
		db, err := pgmemory.Open(ctx, address, pgmemory.Options{})
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	db, err := sqlitememory.Open(ctx, path, sqlitememory.Options{})
	if err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close() }, nil
}

// known returns an error if the database does not exist, so that a mistyped name creates none.
func known(path string) error {
	if os.Getenv("DATABASE_URL") != "" {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: there is no database %s; ingest creates one", errUsage, path)
	}
	return nil
}

// openBase opens the knowledge base. Without an embedder it searches by words only.
func openBase(ctx context.Context, backend driver.Backend) (*knowledge.Base, error) {
	var o memory.Options
	embedder, err := providers.EmbedderFromEnv(ctx)
	switch {
	case errors.Is(err, providers.ErrUnset):
	case err != nil:
		return nil, err
	default:
		o.Embedder = embedder
	}
	m, err := memory.New(backend, o)
	if err != nil {
		return nil, err
	}
	return knowledge.New(m, knowledge.Options{})
}
