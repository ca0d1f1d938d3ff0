package knowledge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// A toEmbed is a chunk that has no vector yet.
type toEmbed struct {
	work   *work
	record *driver.ChunkRecord
	text   string
}

// What documents that have all their vectors have together, or how long they have waited, when they
// are stored while others are still embedded.
const (
	storeChunks = 256
	storeTime   = 2 * time.Second
)

// embed gives the new chunks of documents their vectors.
func (r *ingest) embed(ctx context.Context, window []*work) {
	_ = r.stream(ctx, window, func([]*work) error { return nil })
}

// stream gives the new chunks of documents their vectors, with some calls at once, and hands over
// documents that have all of theirs, in order, while it goes on with the next ones. It returns
// the error of the context, or of ready.
func (r *ingest) stream(ctx context.Context, window []*work, ready func([]*work) error) error {
	inner, cancel := context.WithCancel(ctx)
	s := stream{ingest: r, window: window, done: make(chan called, r.Base.options.Parallel)}
	defer s.calls.Wait()
	defer cancel()
	s.begin()
	late := time.NewTicker(storeTime)
	defer late.Stop()
	for due := false; ; {
		s.fill(inner)
		ended := s.running == 0
		if ctx.Err() == nil && s.advance() > 0 && (due || ended || s.fresh >= storeChunks) {
			if err := ready(s.hand(ctx)); err != nil {
				return err
			}
			due = false
			late.Reset(storeTime)
		}
		if ctx.Err() != nil && ended {
			return context.Cause(ctx)
		}
		if ended {
			return nil
		}
		select {
		case c := <-s.done:
			s.note(c)
		case <-late.C:
			due = true
		}
	}
}

// A stream is documents that are embedded.
type stream struct {
	*ingest
	window  []*work
	list    []toEmbed     // what no call has been made for
	waits   map[*work]int // how many chunks have no answer yet
	failed  map[*work]bool
	done    chan called
	calls   sync.WaitGroup
	running int
	// ready is how many of the window have all their answers, from, and fresh how many new
	// vectors they have.
	from, ready, fresh int
}

// errEnded says that an embedder neither returned nor panicked.
var errEnded = errors.New("the embedder ended its goroutine")

// A called is what came of a call of the embedder.
type called struct {
	batch []toEmbed
	err   error
}

func (s *stream) begin() {
	s.waits, s.failed = map[*work]int{}, map[*work]bool{}
	if s.Base.options.Embedder == nil {
		return
	}
	for _, w := range s.window {
		missing := w.missing()
		s.waits[w] = len(missing)
		s.list = append(s.list, missing...)
	}
}

// missing returns the chunks of a document that are to get a vector.
func (w *work) missing() (list []toEmbed) {
	for i := range w.records {
		if c := &w.records[i]; !c.Kept && c.Embedding == nil {
			list = append(list, toEmbed{w, c, w.texts[i]})
		}
	}
	return list
}

// fill makes as many calls as there may be at once.
func (s *stream) fill(ctx context.Context) {
	for s.running < s.Base.options.Parallel && len(s.list) > 0 && ctx.Err() == nil {
		batch := s.list[:min(len(s.list), s.Base.options.Batch)]
		s.list = s.list[len(batch):]
		s.running++
		s.calls.Go(func() {
			c := called{batch, errEnded}
			defer func() { s.done <- c }()
			c.err = s.embedBatch(ctx, batch)
		})
	}
}

func (s *stream) note(c called) {
	s.running--
	for _, x := range c.batch {
		s.waits[x.work]--
		s.failed[x.work] = s.failed[x.work] || c.err != nil
	}
}

// advance counts the documents that have all their answers, and returns how many those are.
func (s *stream) advance() int {
	for at := s.from + s.ready; at < len(s.window) && s.waits[s.window[at]] == 0; at++ {
		s.ready++
		for i := range s.window[at].records {
			if s.window[at].records[i].Embedding != nil {
				s.fresh++
			}
		}
	}
	return s.ready
}

// hand returns the documents that are ready. A call that failed is made again for each of its
// documents alone, so that one does not keep out the others.
func (s *stream) hand(ctx context.Context) []*work {
	list := s.window[s.from : s.from+s.ready]
	s.from, s.ready, s.fresh = s.from+s.ready, 0, 0
	for _, w := range list {
		if s.failed[w] {
			s.embedAlone(ctx, w)
		}
	}
	return list
}

// embedAlone embeds what is left of one document.
func (r *ingest) embedAlone(ctx context.Context, w *work) {
	for list := w.missing(); len(list) > 0; {
		batch := list[:min(len(list), r.Base.options.Batch)]
		list = list[len(batch):]
		if err := r.embedBatch(ctx, batch); err != nil {
			w.fail(err)
			return
		}
	}
}

// embedBatch embeds in one call.
func (b *Base) embedBatch(ctx context.Context, batch []toEmbed) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the embedder panicked: %v", p)
		}
	}()
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
