package knowledge

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-go/weft/memory"
)

// A toEmbed is a chunk that has no vector yet.
type toEmbed struct {
	work   *work
	record *Record
	text   string
}

// embed gives the new chunks of documents their vectors, with some calls at once. A call
// that fails is made again for each of its documents alone, so that one does not
// keep out the others.
func (r *ingest) embed(ctx context.Context, window []*work) {
	if r.Base.options.Embedder == nil {
		return
	}
	var list []toEmbed
	for _, w := range window {
		for i := range w.records {
			if c := &w.records[i]; !c.Kept && c.Embedding == nil {
				list = append(list, toEmbed{w, c, w.texts[i]})
			}
		}
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, r.Base.options.Parallel)
	var mu sync.Mutex
	failed := map[*work]bool{}
	for len(list) > 0 {
		batch := list[:min(len(list), r.Base.options.Batch)]
		list = list[len(batch):]
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			wait.Wait()
			return
		}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := r.embedBatch(ctx, batch); err != nil {
				mu.Lock()
				defer mu.Unlock()
				for _, x := range batch {
					failed[x.work] = true
				}
			}
		})
	}
	wait.Wait()
	for _, w := range window {
		if failed[w] && ctx.Err() == nil {
			r.embedAlone(ctx, w)
		}
	}
}

// embedAlone embeds what is left of one document.
func (r *ingest) embedAlone(ctx context.Context, w *work) {
	var list []toEmbed
	for i := range w.records {
		if c := &w.records[i]; !c.Kept && c.Embedding == nil {
			list = append(list, toEmbed{w, c, w.texts[i]})
		}
	}
	for len(list) > 0 {
		batch := list[:min(len(list), r.Base.options.Batch)]
		list = list[len(batch):]
		if err := r.embedBatch(ctx, batch); err != nil {
			w.fail(err)
			return
		}
	}
}

// embedBatch embeds in one call.
func (b *Base) embedBatch(ctx context.Context, batch []toEmbed) error {
	texts := make([]string, len(batch))
	for i, x := range batch {
		texts[i] = x.text
	}
	vectors, err := b.vectors(ctx, texts)
	if err != nil {
		return err
	}
	for i, x := range batch {
		x.record.Embedding, x.record.Model = vectors[i], b.model()
	}
	return nil
}

// vectors returns vectors that are right, or an error.
func (b *Base) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	e := b.options.Embedder
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed: %d vectors for %d texts: %w", len(vectors), len(texts), memory.ErrInvalid)
	}
	for i, v := range vectors {
		if err := memory.CheckVector(v, e.Dimension()); err != nil {
			return nil, fmt.Errorf("embed: vector %d of model %q: %w", i, e.Model(), err)
		}
	}
	return vectors, nil
}
