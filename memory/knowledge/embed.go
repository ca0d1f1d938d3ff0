package knowledge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/search"
)

// A toEmbed is a chunk without a vector.
type toEmbed struct {
	work   *work
	record *driver.ChunkRecord
	text   string
}

// Complete documents are stored when they have this number of new vectors, or have waited this long. Other
// documents are still embedded meanwhile.
const (
	storeChunks = 256
	storeTime   = 2 * time.Second
)

// embed computes the vectors of the new chunks of documents.
func (r *ingest) embed(ctx context.Context, window []*work) {
	_ = r.stream(ctx, window, func([]*work) error { return nil })
}

// stream computes the vectors of the new chunks of documents with several concurrent calls. It passes
// complete documents to ready, in order, while later documents are embedded. It returns the error of the
// context or of ready.
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

// A stream is a list of documents that are being embedded.
type stream struct {
	*ingest
	window  []*work
	list    []toEmbed     // chunks that are in no call yet
	waits   map[*work]int // the number of chunks of a document that wait for the embedder
	failed  map[*work]bool
	done    chan called
	calls   sync.WaitGroup
	running int
	// from is the index of the first document of the window that hand has not returned. ready is the number of
	// documents from there on for which the embedder has answered, and fresh the number of their new vectors.
	from, ready, fresh int
}

// errEnded means that an embedder ended its goroutine with runtime.Goexit.
var errEnded = errors.New("the embedder ended its goroutine")

// A called is a call of the embedder with its result.
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

// missing returns the chunks of a document that need a vector.
func (w *work) missing() (list []toEmbed) {
	for i := range w.records {
		if c := &w.records[i]; !c.Kept && c.Embedding == nil {
			list = append(list, toEmbed{w, c, w.texts[i]})
		}
	}
	return list
}

// fill starts calls up to the limit.
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

// advance returns the number of next documents for which the embedder has answered.
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

// hand returns the complete documents. It repeats a failed call for each of its documents separately, so
// that one document does not fail the others.
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

// embedAlone embeds the remaining chunks of one document.
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

// embedBatch computes vectors with one call.
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
	vectors, err := search.Vectors(ctx, b.options.Embedder, texts)
	if err != nil {
		return err
	}
	for i, x := range batch {
		x.record.Embedding, x.record.Model = vectors[i], b.model()
	}
	return nil
}
