package knowledge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// A work is a document that is being stored.
type work struct {
	text string
	next Source // the new state
	// had is the stored source before the change, and records are the chunks of the document.
	had     Source
	records []driver.ChunkRecord
	texts   []string // the text to embed, for each record
	// vectors has vectors of earlier attempts, by the IDs of chunks.
	vectors map[string][]float32

	status           Status // empty until it is known
	err              error
	chunks, embedded int
}

func (w *work) fail(err error) {
	w.status, w.err = Failed, err
	if skips(err) {
		w.status = Skipped
	}
}

// maxTries is the number of attempts for a document that another program changes at the same time. The
// delay before an attempt is random, and its maximum doubles with each attempt.
const (
	maxTries = 12
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// work stores documents with different URIs and reports them. It returns only errors of the context or of
// the report; other errors are the results of documents.
func (r *ingest) work(ctx context.Context, window []*work) error {
	open := window
	for try := range maxTries {
		if open = undone(open); len(open) == 0 {
			break
		}
		if try > 0 && !pause(ctx, rand.N(min(minPause<<try, maxPause))) {
			return context.Cause(ctx)
		}
		r.prepare(ctx, open)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.tell(window); err != nil {
			return err
		}
		err := r.stream(ctx, undone(open), func(ready []*work) error {
			r.swap(ctx, undone(ready))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.tell(window)
		})
		if err != nil {
			return err
		}
	}
	for _, w := range undone(open) {
		w.fail(fmt.Errorf("others change it all the time; ingest it again when they are done: %w", memory.ErrConflict))
	}
	return r.tell(window)
}

// pause waits. It reports whether the context is still valid.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func undone(window []*work) []*work {
	var open []*work
	for _, w := range window {
		if w.status == "" {
			open = append(open, w)
		}
	}
	return open
}

func failAll(window []*work, err error) {
	for _, w := range window {
		w.fail(err)
	}
}

// prepare compares documents with the stored sources, and cuts the documents that are new or changed.
func (r *ingest) prepare(ctx context.Context, window []*work) {
	byURI := map[string]*work{}
	var uris []string
	for _, w := range window {
		w.again()
		byURI[w.next.URI] = w
		uris = append(uris, w.next.URI)
	}
	for s, err := range r.store.Sources(ctx, Query{Reach: r.scope.Only(), URIs: uris}) {
		if err != nil {
			failAll(window, err)
			return
		}
		if w := byURI[s.URI]; w != nil {
			w.had = s
		}
	}
	var changed []*work
	for _, w := range window {
		if w.had.Revision > 0 && r.unchanged(w) {
			w.status, w.chunks = Unchanged, w.had.Chunks
			continue
		}
		changed = append(changed, w)
	}
	r.cut(ctx, changed)
}

// again resets the work, but keeps its vectors.
func (w *work) again() {
	for i := range w.records {
		if c := &w.records[i]; !c.Kept && c.Embedding != nil {
			if w.vectors == nil {
				w.vectors = map[string][]float32{}
			}
			w.vectors[c.ID] = c.Embedding
		}
	}
	w.had, w.records = Source{}, nil
}

// unchanged reports whether the stored source is current. It does not compare a title that comes from the text,
// because it compares the text.
func (r *ingest) unchanged(w *work) bool {
	had, next := &w.had, &w.next
	return had.SHA256 == next.SHA256 && had.Size == next.Size && recipeOfSource(had).text(r.recipe) && had.Format == next.Format &&
		(r.model() == "" || r.embedded(had)) && had.Version == next.Version && had.Trust == next.Trust &&
		(next.Title == "" || had.Title == next.Title) && bytes.Equal(had.Metadata, next.Metadata)
}

// cut creates the records of documents and marks the chunks that the store already has. A chunk is kept if
// its text, headings, terms and tokens are the same, even if the splitter has changed.
func (r *ingest) cut(ctx context.Context, window []*work) {
	stored, err := r.stored(ctx, window)
	if err != nil {
		failAll(window, err)
		return
	}
	for _, w := range window {
		w.cut(r.Base.options.Splitter)
		for i := range w.records {
			c := &w.records[i]
			had, there := stored[c.ID]
			if there && had.Tokens == c.Tokens && (r.model() == "" || had.Model == r.model()) {
				*c = driver.ChunkRecord{Kept: true, Chunk: Chunk{ID: c.ID, Ordinal: c.Ordinal, Start: c.Start, End: c.End, Model: had.Model}}
			} else if v := w.vectors[c.ID]; v != nil {
				c.Embedding, c.Model = v, r.model()
			}
		}
	}
}

// stored returns the tokens and models, by ID, of the stored chunks that may be kept. It also
// sets the recipes of the documents.
func (r *ingest) stored(ctx context.Context, window []*work) (map[string]Chunk, error) {
	var spans []driver.ChunkSpan
	for _, w := range window {
		had := recipeOfSource(&w.had)
		w.next.Recipe = r.recipe.String()
		if w.had.Revision == 0 || had.words != r.recipe.words {
			continue
		}
		if r.model() == "" {
			w.next.Recipe = r.recipe.of(had.length).String() // of the kept chunks
		} else if had.length != r.recipe.length {
			continue
		}
		spans = append(spans, wholeOf(&w.had))
	}
	stored := map[string]Chunk{}
	if len(spans) == 0 {
		return stored, nil
	}
	for c, err := range r.store.Chunks(ctx, spans) {
		if err != nil {
			return nil, err
		}
		stored[c.ID] = Chunk{Tokens: c.Tokens, Model: c.Model}
	}
	return stored, nil
}

// cut creates the records of a document.
func (w *work) cut(s split.Splitter) {
	d := s.Split(w.text, split.Format(w.next.Format))
	if w.next.Title == "" {
		w.next.Title = d.Title
	}
	w.records, w.texts = make([]driver.ChunkRecord, len(d.Pieces)), make([]string, len(d.Pieces))
	same := map[string]int{}
	for i, p := range d.Pieces {
		text := passage.Text(w.next.Title, p.Headings, p.Content)
		w.texts[i] = text
		r := driver.ChunkRecord{Chunk: Chunk{Ordinal: i, Headings: p.Headings, Content: p.Content, Start: p.Start, End: p.End, Tokens: p.Tokens}, Terms: rank.Terms(text)}
		r.ID = chunkID(&w.next, &r.Chunk, text, same)
		w.records[i] = r
	}
}

// chunkID returns a UUID of version 8. It is a hash of the scope, URI and title of the source, the content and headings
// of the chunk, and the number of equal chunks before it in the source. The argument text has the title.
func chunkID(s *Source, c *Chunk, text string, same map[string]int) string {
	nth := same[text]
	same[text]++
	h := sha256.New()
	var length [8]byte
	for _, part := range append([]string{s.Scope.Tenant, s.Scope.Workspace, s.Scope.User, s.Scope.Agent, s.URI, text, c.Content}, c.Headings...) {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	binary.BigEndian.PutUint64(length[:], uint64(nth))
	h.Write(length[:])
	sum := h.Sum(nil)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	x := hex.EncodeToString(sum[:16])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// swap stores documents in one change. If the change fails, it stores each document separately, so that one
// document does not fail the others. A document that another program has changed meanwhile is not stored.
func (r *ingest) swap(ctx context.Context, window []*work) {
	if len(window) == 0 {
		return
	}
	c := driver.SourceChange{Scope: r.scope, Quota: r.Base.options.Quota}
	for _, w := range window {
		c.Swaps = append(c.Swaps, r.swapOf(w))
	}
	err := r.store.Swap(ctx, c)
	switch {
	case err == nil:
		for _, w := range window {
			w.done()
		}
	case len(window) > 1 && ctx.Err() == nil:
		for _, w := range window {
			r.swap(ctx, []*work{w})
		}
	case !errors.Is(err, memory.ErrConflict):
		failAll(window, err)
	}
}

func (r *ingest) swapOf(w *work) driver.SourceSwap {
	s := w.next
	s.ID, s.Revision, s.Chunks = w.had.ID, w.had.Revision, len(w.records)
	if s.ID == "" {
		s.ID = uuid.New()
	}
	for i := range w.records {
		if i > 0 && w.records[i].Model != s.Model {
			s.Model = ""
			break
		}
		s.Model = w.records[i].Model
	}
	if len(w.records) == 0 {
		s.Model = r.model()
	}
	return driver.SourceSwap{Source: s, Chunks: w.records}
}

func (w *work) done() {
	w.status, w.chunks = Added, len(w.records)
	if w.had.Revision > 0 {
		w.status = Updated
	}
	for i := range w.records {
		if !w.records[i].Kept && w.records[i].Embedding != nil {
			w.embedded++
		}
	}
	w.records, w.texts, w.vectors = nil, nil, nil
}
