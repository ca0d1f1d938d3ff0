package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// A store is one of the stores that are compared.
type store struct {
	name  string
	facts driver.FactStore
}

// openStores opens an SQLite database in a folder, and a new schema in the PostgreSQL database at a URL.
// The in-memory store is the first. The returned function closes the stores and drops the schema.
func openStores(ctx context.Context, dir, url string) (list []store, closeAll func() error, err error) {
	list = []store{{"in memory", inmemory.NewFacts(inmemory.Options{})}}
	lite, err := sqlitememory.Open(ctx, filepath.Join(dir, "recall.db"), sqlitememory.Options{})
	if err != nil {
		return nil, nil, err
	}
	o := pgmemory.Options{Schema: "weft_recall_" + strings.ToLower(rand.Text()[:12])}
	db, err := pgmemory.Open(ctx, url, o)
	if err != nil {
		return nil, nil, errors.Join(err, lite.Close())
	}
	closeAll = func() error {
		db.Close()
		// Drop the schema even after an interruption.
		return errors.Join(lite.Close(), execute(context.Background(), url, "DROP SCHEMA "+o.Schema+" CASCADE"))
	}
	return append(list, store{"SQLite", lite.Facts()}, store{"PostgreSQL", db.Facts()}), closeAll, nil
}

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// scopeOf returns the scope that holds a collection with the vectors of an embedder.
func scopeOf(c *collection, e memory.Embedder) memory.Scope {
	return memory.Scope{Workspace: e.Model(), User: c.name}
}

// idOf and numberOf convert the number of a document to the ID of its fact and back.
func idOf(number int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012x", number) }

func numberOf(id string) int {
	n, _ := strconv.ParseInt(id[24:], 16, 64) // idOf made the ID.
	return int(n)
}

func (d *document) fact(number int) memory.Fact {
	return memory.Fact{ID: idOf(number), Content: d.text, Conversation: d.conversation, Turn: d.turn, Trust: memory.Stated}
}

// add stores the documents as facts, in batches. It returns the result for each document.
func (c *collection) add(ctx context.Context, m *memory.Memory, s memory.Scope) (stored []memory.Stored, err error) {
	for from := 0; from < len(c.documents); from += memory.MaxBatch {
		var facts []memory.Fact
		for i := from; i < min(from+memory.MaxBatch, len(c.documents)); i++ {
			facts = append(facts, c.documents[i].fact(i))
		}
		batch, err := m.Store(ctx, s, facts...)
		if err != nil {
			return nil, err
		}
		stored = append(stored, batch...)
	}
	return stored, nil
}

// unite merges documents that memory stores as one fact, and corrects the answers of the questions.
func (c *collection) unite(ctx context.Context) error {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		return err
	}
	stored, err := c.add(ctx, m, memory.Scope{User: c.name})
	if err != nil {
		return err
	}
	var kept []document
	number := make([]int, len(stored))
	for i, s := range stored {
		if s.Existed {
			number[i] = number[numberOf(s.ID)]
			continue
		}
		number[i] = len(kept)
		kept = append(kept, c.documents[i])
	}
	c.documents = kept
	for _, s := range c.sets {
		for i := range s.questions {
			q := &s.questions[i]
			answers := make([]int, len(q.answers))
			for k, a := range q.answers {
				answers[k] = number[a]
			}
			q.answers = slices.Compact(slices.Sorted(slices.Values(answers)))
		}
	}
	return nil
}

// fill stores a collection in the first store, in one scope for each embedder, and copies the facts with
// their IDs and vectors to the others.
func fill(ctx context.Context, stores []store, c *collection, embedders []memory.Embedder) error {
	for _, e := range embedders {
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: stores[0].facts}), memory.Options{Embedder: e})
		if err != nil {
			return err
		}
		s := scopeOf(c, e)
		if _, err := c.add(ctx, m, s); err != nil {
			return err
		}
		for _, to := range stores[1:] {
			if err := copyFacts(ctx, stores[0], to, s); err != nil {
				return fmt.Errorf("copy %s to %s: %w", s, to.name, err)
			}
		}
	}
	return nil
}

func copyFacts(ctx context.Context, from, to store, s memory.Scope) error {
	var batch []driver.SavedFact
	for saved, err := range from.facts.Dump(ctx, &s) {
		if err != nil {
			return err
		}
		if batch = append(batch, saved); len(batch) == memory.MaxBatch {
			if _, err := to.facts.Restore(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	_, err := to.facts.Restore(ctx, batch)
	return err
}
