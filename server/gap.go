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

// A position is a place in the streams of a thread: an event of the log, and one of the events that
// a client gets for it. A reader at a position has got this event and all before it.
type position struct {
	seq   int64
	index int
}

// whole is the position after all that clients get for an event.
func whole(seq int64) position { return position{seq, math.MaxInt} }

// has reports whether a reader at the position has got an event.
func (p position) has(seq int64, index int) bool {
	return seq < p.seq || seq == p.seq && index <= p.index
}

// last returns the number of the last event of which the reader has got all.
func (p position) last() int64 {
	if p.index == math.MaxInt {
		return p.seq
	}
	return p.seq - 1
}

// id returns the id of an event in a stream, with which a client comes back.
func (p position) id() string {
	if p.index == math.MaxInt {
		return strconv.FormatInt(p.seq, 10)
	}
	return strconv.FormatInt(p.seq, 10) + "-" + strconv.Itoa(p.index)
}

// readPosition reads a Last-Event-ID. -1 means the beginning.
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

// A gap tells a reader that it cannot get some events, because they are no longer kept. The
// values of the thread at this time follow it.
type gap struct {
	// Missed is the number of events that were removed from the log before the reader read them. The reader would
	// not have got each of them.
	Missed int64 `json:"missed"`
}

const gapEvent = "gap"

// presentState returns the values and the open questions of a thread as clients see them. The values
// are nil if it has none.
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

// gapEvents returns what a reader of a stream gets in place of missed events. The name is that of
// the event with the values, or empty.
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

// A skipFunc tells a reader that events are no longer kept. Last is the number of the last one.
type skipFunc func(missed, last int64) error

// skipper returns a skipFunc for a reader that was at a position before.
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
