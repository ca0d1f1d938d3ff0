package knowledge

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Reembed computes vectors for the chunks of the selected sources that have no vector of the current model
// and length. It does not need the documents. It yields the result of each changed source. It can be
// stopped at any time and called again. Without an embedder it does nothing.
//
// A query covers one tenant. For all tenants, call it for each of [Base.Scopes].
func (b *Base) Reembed(ctx context.Context, q Query) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		err := q.Validate()
		if err == nil && b.options.Embedder != nil {
			err = b.reembed(ctx, q, yield)
		}
		if err != nil && !errors.Is(err, errBroken) {
			yield(Progress{}, fmt.Errorf("knowledge: reembed: %w", err))
		}
	}
}

func (b *Base) reembed(ctx context.Context, q Query, yield func(Progress, error) bool) error {
	var old []Source
	for s, err := range b.store.Sources(ctx, q) {
		if err != nil {
			return err
		}
		if !b.embedded(&s) {
			old = append(old, s)
		}
	}
	run := ingest{Base: b, yield: yield}
	for _, s := range old {
		run.scope = s.Scope
		w := &work{next: s, had: s}
		if err := run.load(ctx, w); err != nil {
			return err
		}
		run.embed(ctx, undone([]*work{w}))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		run.swap(ctx, undone([]*work{w}))
		if w.status == "" {
			w.fail(fmt.Errorf("it was changed meanwhile: %w", memory.ErrConflict))
		}
		if err := run.report(w); err != nil {
			return err
		}
	}
	return nil
}

// embedded reports whether all chunks of a source have vectors of the current model and length.
func (b *Base) embedded(s *Source) bool {
	return s.Model == b.model() && recipeOfSource(s).length == b.recipe.length
}

// load sets the records of a document from its stored source.
func (r *ingest) load(ctx context.Context, w *work) error {
	had, stay := recipeOfSource(&w.had), 0
	for c, err := range r.store.Chunks(ctx, []driver.ChunkSpan{wholeOf(&w.had)}) {
		if err != nil {
			return err
		}
		if c.Model == r.model() && had.length == r.recipe.length {
			stay++
			w.records = append(w.records, driver.ChunkRecord{Kept: true, Chunk: Chunk{ID: c.ID, Ordinal: c.Ordinal, Start: c.Start, End: c.End, Model: c.Model}})
			w.texts = append(w.texts, "")
			continue
		}
		text := passage.Text(w.next.Title, c.Headings, c.Content)
		c.Model = ""
		w.records = append(w.records, driver.ChunkRecord{Chunk: c, Terms: rank.Terms(text)})
		w.texts = append(w.texts, text)
	}
	if stay == 0 {
		had.words = r.recipe.words
	}
	w.next.Recipe = had.of(r.recipe.length).String()
	return nil
}
