package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/server"
)

// heartbeat is the time between two signs of life, so that a proxy does not close the connection while a
// tool works.
const heartbeat = 15 * time.Second

// events sends what happens in a run as server-sent events: the name of each is the kind of the chunk. An
// error before the first event is returned. A later one is the event "error".
func events(w http.ResponseWriter, r *http.Request, chunks iter.Seq2[agent.Chunk, error]) error {
	s := &stream{w: w, rc: http.NewResponseController(w)}
	stop := make(chan struct{})
	var alive sync.WaitGroup
	defer alive.Wait()
	defer close(stop)
	for c, err := range chunks {
		if err != nil && !s.begun {
			return err
		}
		if !s.begun {
			s.begin()
			alive.Go(func() { s.live(stop) })
		}
		if err != nil {
			_ = s.send("error", map[string]string{"detail": detail(err)}) // the client may have left
			return err                                                    // it is logged
		}
		if s.send(string(c.Kind), c) != nil {
			return nil // the client has left; leaving the loop ends the run
		}
	}
	return nil
}

// detail is what a client is told of an error.
func detail(err error) string {
	if refusal, ok := errors.AsType[*server.Refusal](refused(err)); ok {
		return refusal.Detail
	}
	return "The run failed, and can be resumed. The log of the server says why."
}

// stream writes events; signs of life come from a goroutine of its own.
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

func (s *stream) begin() {
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) send(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, data))
}

func (s *stream) write(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.rc.Flush()
}

func (s *stream) live(stop <-chan struct{}) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			_ = s.write([]byte(": still here\n\n")) // the next event fails, too
		}
	}
}
