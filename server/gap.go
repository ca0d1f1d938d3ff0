package server

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/server/runs"
)

// A position is a place in the streams of a thread: an event of the log, and the index of a stream event that is made of
// it. A reader at a position has got this stream event and all earlier ones.
type position struct {
	seq   int64
	index int
}

// whole returns the position after all stream events that are made of a log event.
func whole(seq int64) position { return position{seq, math.MaxInt} }

// has reports whether a reader at the position has got an event.
func (p position) has(seq int64, index int) bool {
	return seq < p.seq || seq == p.seq && index <= p.index
}

// last returns the number of the last log event of which the reader has got all stream events.
func (p position) last() int64 {
	if p.index == math.MaxInt {
		return p.seq
	}
	return p.seq - 1
}

// id returns the position as the id of a stream event. A client sends it as Last-Event-ID when it reconnects.
func (p position) id() string {
	if p.index == math.MaxInt {
		return strconv.FormatInt(p.seq, 10)
	}
	return strconv.FormatInt(p.seq, 10) + "-" + strconv.Itoa(p.index)
}

// readPosition reads a Last-Event-ID. -1 is the beginning.
func readPosition(id string) (position, error) {
	if id == "-1" {
		return whole(0), nil
	}
	text, part, cut := strings.Cut(id, "-")
	p := whole(0)
	var err error
	if p.seq, err = strconv.ParseInt(text, 10, 64); err == nil && cut {
		p.index, err = strconv.Atoi(part)
	}
	if err != nil || p.seq < 0 || p.index < 0 {
		return p, invalid("Last-Event-ID is %q, which no event of this server has.", shortened(id))
	}
	return p, nil
}

// A gap tells a reader that it missed some events, because they are no longer kept. The current values of the thread
// follow the gap.
type gap struct {
	// Missed is the number of events that were removed from the log before the reader read them. The reader would
	// not have got each of them.
	Missed int64 `json:"missed"`
}

const gapEvent = "gap"

// presentState returns the values and the open questions of a thread as clients see them. The values are nil if the
// thread has none.
func (c *call) presentState(thread string) (map[string]json.RawMessage, []interrupt, error) {
	r, err := c.getFor(ActionRead, runs.Thread, thread)
	if err != nil {
		return nil, nil, err
	}
	g := c.s.graphs[r.Graph]
	if g == nil {
		return nil, nil, nil
	}
	snap, err := g.graph.Thread(thread).Snapshot(c.ctx())
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	values, err := c.s.reader(g, thread).values(c.ctx(), snap)
	values = g.channels.shown(values)
	return values, questionsIn(snap), err
}

// gapEvents returns the events that a reader of a stream gets in place of missed ones: a gap, and an event with the
// values. name is the name of the event with the values, or empty for none.
func (c *call) gapEvents(thread string, missed int64, name string) ([]streamed, error) {
	out := []streamed{{gapEvent, gap{missed}}}
	if name == "" {
		return out, nil
	}
	values, open, err := c.presentState(thread)
	if err != nil || values == nil {
		return out, err
	}
	if len(open) > 0 {
		values["__interrupt__"] = encoded(open)
	}
	return append(out, streamed{name, values}), nil
}

// A skipFunc tells a reader that events are no longer kept. last is the number of the last missed event.
type skipFunc func(missed, last int64) error

// skipper returns a skipFunc for a reader that begins at a position.
func (c *call) skipper(thread string, at position, values string, send func(position, streamed) error) skipFunc {
	return func(missed, last int64) error {
		missed = min(missed, last-at.last())
		if missed <= 0 {
			return nil
		}
		events, err := c.gapEvents(thread, missed, values)
		for _, ev := range events {
			if err == nil {
				err = send(whole(last), ev)
			}
		}
		return err
	}
}
