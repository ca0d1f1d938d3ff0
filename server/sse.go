package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// An sse writes server-sent events (HTML standard, section 9.2) to a client. It writes a comment at each heartbeat.
type sse struct {
	w  http.ResponseWriter
	rc *http.ResponseController

	mu      sync.Mutex
	err     error
	stopped bool
	beats   *time.Timer
}

// startSSE sends the head of the response.
func (c *call) startSSE() *sse {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // makes nginx pass events on without a delay
	c.w.WriteHeader(http.StatusOK)
	s := &sse{w: c.w, rc: http.NewResponseController(c.w)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats = time.AfterFunc(c.s.o.Heartbeat, func() { s.beat(c.s.o.Heartbeat) }) // AfterFunc needs no goroutine while it waits
	s.flush()
	return s
}

// stop ends the comments. Nothing is written afterwards.
func (s *sse) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.beats.Stop()
}

func (s *sse) beat(every time.Duration) {
	// The comment has no empty line, because an empty line would end an event, and some clients would read one without a
	// name.
	if s.write([]byte(": heartbeat\n")) != nil { // the next event has the error
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.beats.Reset(every)
	}
}

// send writes an event. If id is empty, the event has no id.
func (s *sse) send(name, id string, data json.RawMessage) error {
	var b bytes.Buffer
	b.WriteString("event: " + name + "\n")
	b.WriteString("data: ")
	if err := json.Compact(&b, data); err != nil { // removes line breaks from the data
		return err
	}
	b.WriteByte('\n')
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

// data writes an event without a name, whose data is one line.
func (s *sse) data(data json.RawMessage) error {
	return s.write(slices.Concat([]byte("data: "), data, []byte("\n\n")))
}

func (s *sse) write(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopped
	}
	if s.err == nil {
		_, s.err = s.w.Write(data)
	}
	s.flush()
	return s.err
}

var errStopped = errors.New("the stream has ended")

// flush sends the buffered data. The caller holds the lock.
func (s *sse) flush() {
	if s.err == nil {
		s.err = s.rc.Flush()
	}
}
