package server

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A subscription selects events of the thread-centric protocol.
type subscription struct {
	Channels   []string   `json:"channels"`
	Namespaces [][]string `json:"namespaces"`
	Depth      *int       `json:"depth"`
	Since      int64      `json:"since"`
}

// has reports whether the subscription selects events of a channel in a namespace.
func (s *subscription) has(channel string, namespace []string) bool {
	if !slices.ContainsFunc(s.Channels, func(ch string) bool {
		return ch == channel || ch == "custom" && strings.HasPrefix(channel, "custom:")
	}) {
		return false
	}
	if len(s.Namespaces) == 0 {
		return s.Depth == nil || len(namespace) <= *s.Depth
	}
	for _, prefix := range s.Namespaces {
		if within(namespace, prefix) && (s.Depth == nil || len(namespace)-len(prefix) <= *s.Depth) {
			return true
		}
	}
	return false
}

// within reports whether a namespace begins with a prefix. A part of the prefix without a task
// matches all tasks of the node.
func within(namespace, prefix []string) bool {
	if len(prefix) > len(namespace) {
		return false
	}
	for i, want := range prefix {
		node, _, _ := strings.Cut(namespace[i], ":")
		if want != namespace[i] && want != node {
			return false
		}
	}
	return true
}

// channelNames are the channels of the thread-centric protocol, without the channels of named values.
var channelNames = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// check returns an error if a subscription is invalid.
func (s *subscription) check() error {
	if len(s.Channels) == 0 {
		return &commandError{codeInvalid, "A subscription needs channels."}
	}
	for _, ch := range s.Channels {
		if !slices.Contains(channelNames, ch) && !strings.HasPrefix(ch, "custom:") {
			return &commandError{codeInvalid, "There is no channel " + shortened(ch) + "."}
		}
	}
	return nil
}

// A threadReader reads the events of the thread-centric protocol from the beginning of a thread.
type threadReader struct {
	c      *call
	log    *threadLog
	reader *logReader
	view   *threadView
	after  int64 // the number of the last event of the log that was read
	until  int64 // the number of the last event to read; 0 means no end
	shown  bool  // it is known that the user may see the thread
}

// readThread returns a reader of the events of a thread. The caller closes its field reader.
func (c *call) readThread(log *threadLog) *threadReader {
	return &threadReader{c: c, log: log, reader: log.reader(0), view: newThreadView()}
}

const maxBatch = 256 // events of the log for one call of next

// next returns the next events. If there are no more, it also returns a channel that is closed when there are. If the
// user may not see the thread, next behaves as for a thread that does not exist: it never returns an event.
func (r *threadReader) next() (events []threadEvent, changed <-chan struct{}, err error) {
	list, missed, changed, err := r.reader.after(r.c.ctx(), r.after)
	if missed > 0 {
		r.after += missed
		events, err = r.c.missedEvents(r.log, missed, r.after+1)
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range list[:min(len(list), maxBatch)] {
		e := &list[i]
		if r.until > 0 && e.Seq > r.until {
			break
		}
		r.after = e.Seq
		more, err := r.view.events(e)
		if err != nil {
			return nil, nil, err
		}
		events = append(events, more...)
	}
	if len(events) > 0 && !r.shown { // check now, because the thread may have been created after the request
		_, err := r.c.getFor(ActionRead, runs.Thread, r.log.thread)
		if isNotFound(err) {
			return nil, never, nil
		}
		if err != nil {
			return nil, nil, err
		}
		r.shown = true
	}
	return events, changed, nil
}

// never is never closed.
var never = make(chan struct{})

// missedEvents returns the events that a reader gets in place of missed ones, before the event with the number next: the
// gap, the current values, and the open questions.
func (c *call) missedEvents(log *threadLog, missed, next int64) ([]threadEvent, error) {
	var out []threadEvent
	add := func(channel, method string, data any) {
		id := position{next - 1, len(out)}.id() + "-" + gapEvent + "-" + strconv.FormatInt(log.end(), 10)
		out = append(out, threadEvent{
			Type: "event", ID: id, Seq: (next-1)*maxEvents + int64(len(out)), Method: method, channel: channel,
			Params: eventParams{Namespace: []string{}, Timestamp: time.Now().UnixMilli(), Data: data},
		})
	}
	add(gapEvent, gapEvent, gap{missed})
	values, open, err := c.presentState(log.thread)
	if err != nil || values == nil {
		return out, err
	}
	add("values", "values", values)
	for _, q := range open {
		add("input", "input.requested", map[string]any{"interrupt_id": q.ID, "payload": q.Value})
	}
	return out, nil
}

// knows reports whether the client already has an event. sent is the position of the event among the events of the
// stream. LangGraph's server uses this position as seq, and clients that count events may send it as Since.
func (s *subscription) knows(sent, seq int64) bool {
	if s.Since < maxEvents { // a position, because each seq of Weft is larger
		return sent <= s.Since
	}
	return seq <= s.Since
}

// streamEvents sends the events of a thread, from the first one on, until the client leaves. The seq of an event grows
// with its place in the thread, because clients compare the seq of two streams with different channels.
func (c *call) streamEvents() error {
	var sub subscription
	if err := c.body(&sub, true); err != nil {
		return err
	}
	log, err := c.openThread()
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	out := c.startSSE()
	defer out.stop()
	r, sent, last := c.readThread(log), int64(0), int64(0)
	defer r.reader.close()
	for {
		events, changed, err := r.next()
		for _, ev := range events {
			switch {
			case err != nil:
			case ev.Method == gapEvent:
				err = out.send(ev.Method, ev.ID, encoded(ev))
			case sub.has(ev.channel, ev.Params.Namespace):
				sent, last = sent+1, max(ev.Seq, last+1)
				if ev.Seq = last; !sub.knows(sent, last) {
					err = out.send(ev.Method, ev.ID, encoded(ev))
				}
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the response has begun
		}
		select {
		case <-orReady(changed):
		case <-c.ctx().Done():
			return nil
		case <-c.s.ctx.Done():
			return nil
		}
	}
}

// orReady returns the channel, or a closed channel for nil.
func orReady(changed <-chan struct{}) <-chan struct{} {
	if changed == nil {
		return ready
	}
	return changed
}

var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// openThread opens the log of the thread in the path. The thread need not exist yet. The caller calls closeLog.
func (c *call) openThread() (*threadLog, error) {
	thread, err := c.id("thread")
	if err != nil {
		return nil, err
	}
	if _, err := c.getFor(ActionRead, runs.Thread, thread); err != nil && !isNotFound(err) {
		return nil, err
	}
	return c.s.openLog(c.ctx(), thread)
}
