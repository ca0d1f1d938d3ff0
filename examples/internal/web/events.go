package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/weft-go/weft/graph/agent"
)

const (
	// heartbeat is how often a client hears something, so that neither it nor a
	// proxy takes a model that thinks for a connection that is dead.
	heartbeat = 15 * time.Second
	// writeTime is how long a client may take to read an event.
	writeTime = 30 * time.Second
)

// An Event is a server-sent event: a name, and data that is sent as JSON.
type Event struct {
	Name string
	Data any
}

// Chunks makes events of what happens in a run. The name of each is the chunk's
// kind, its data the chunk:
//
//	event: text
//	data: {"kind":"text","node":"agent","message_id":"…","text":"Hel"}
//
// The chunk of an error is left out: [Send] tells it.
func Chunks(chunks iter.Seq2[agent.Chunk, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for c, err := range chunks {
			if !yield(Event{Name: string(c.Kind), Data: c}, err) || err != nil {
				return
			}
		}
	}
}

// Send answers with events as they come, and a sign of life in between. The
// events have to end when the request's context does, as those of a run do that
// it was given to. An error before the first event is returned; a later one is
// sent as an event "error" with the [Problem] as its data, and returned only for
// [Handler] to log: nothing more can be written. A client that does not read, or
// is gone, ends the events and is no error.
func Send(w http.ResponseWriter, r *http.Request, events iter.Seq2[Event, error]) error {
	s := &stream{w: w, control: http.NewResponseController(w)}
	defer s.end()
	for event, err := range events {
		if err != nil && !s.begun() {
			return err
		}
		if err != nil {
			event = Event{Name: "error", Data: ProblemOf(err)}
		}
		data, problem := json.Marshal(event.Data)
		if problem != nil {
			return sent{fmt.Errorf("web: event %s: %w", event.Name, problem)}
		}
		s.begin(r.Context())
		if s.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", event.Name, data)) != nil {
			return nil // leaving the loop cancels the run
		}
		if err != nil {
			return sent{err}
		}
	}
	s.begin(r.Context())
	return nil
}

// sent is an error after which nothing more can be written.
type sent struct{ error }

// Unwrap returns the cause.
func (s sent) Unwrap() error { return s.error }

// stream writes events. The signs of life come from a goroutine of its own.
type stream struct {
	mu      sync.Mutex // one event is written at a time
	w       http.ResponseWriter
	control *http.ResponseController
	stop    context.CancelFunc
	alive   sync.WaitGroup
}

func (s *stream) begun() bool { return s.stop != nil }

func (s *stream) begin(ctx context.Context) {
	if s.begun() {
		return
	}
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
	ctx, s.stop = context.WithCancel(ctx)
	s.alive.Go(func() { s.live(ctx) })
}

// live writes a comment now and then. One that fails ends the connection, and
// so the request's context.
func (s *stream) live(ctx context.Context) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.write([]byte(": still here\n\n")) != nil {
				return
			}
		}
	}
}

func (s *stream) write(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.w.Write(data); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *stream) end() {
	if s.begun() {
		s.stop()
	}
	s.alive.Wait()
}
