package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/weft-go/weft/server/runs"
)

// watchThread sends the events of all runs of a thread until the client leaves. It begins after Last-Event-ID, or with
// the next event.
func (c *call) watchThread() error {
	t, err := c.pathThread()
	if err != nil {
		return err
	}
	modes := map[string]bool{}
	query := c.r.URL.Query() // the SDK for JavaScript names the parameter stream_mode
	for _, m := range readModes(slices.Concat(query["stream_modes"], query["stream_mode"])) {
		modes[m] = true
	}
	if len(modes) == 0 {
		modes["run_modes"] = true
	}
	log, err := c.s.openLog(c.ctx(), t.ID)
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	at := whole(log.end())
	if last := c.r.Header.Get("Last-Event-ID"); last != "" {
		if at, err = readPosition(last); err != nil {
			return err
		}
	}
	begin, err := log.runAfter(c.ctx(), at.last()) // begin at the start of a run, since the chunks of a message need the earlier ones
	if err != nil {
		return err
	}
	out := c.startSSE()
	defer out.stop()
	send := func(p position, ev streamed) error { return out.send(ev.name, p.id(), encoded(ev.data)) }
	values := "values"
	if modes["state_update"] {
		values = "state_update"
	}
	views := map[string]*view{}
	// The response has begun, so the client cannot get an error.
	_ = c.followAll(log, begin, c.skipper(t.ID, at, values, send), func(e *runs.Event) error {
		events, err := c.watched(e, modes, views)
		for i, ev := range events {
			if err == nil && !at.has(e.Seq, i) {
				err = send(position{e.Seq, i}, ev)
			}
		}
		return err
	})
	return nil
}

// readModes returns the modes in a parameter. A client repeats the parameter, separates the modes by commas, or sends a
// JSON array. For no mode, the SDK for Python sends an empty value.
func readModes(values []string) (modes []string) {
	for _, v := range values {
		var list []string
		if json.Unmarshal([]byte(v), &list) != nil {
			list = strings.Split(v, ",")
		}
		for _, m := range list {
			if m != "" {
				modes = append(modes, m)
			}
		}
	}
	return modes
}

// watched returns the events that a reader of a thread gets for an event of the log.
func (c *call) watched(e *runs.Event, modes map[string]bool, views map[string]*view) (out []streamed, err error) {
	if modes["lifecycle"] {
		switch e.Kind {
		case kindStart:
			out, err = startOf(e)
		case kindEnd:
			out = append(out, streamed{"metadata", map[string]any{"run_id": e.Run, "status": "run_done"}})
		}
	}
	if modes["state_update"] && e.Kind == kindValues && e.Path == "" {
		out = append(out, streamed{"state_update", e.Data})
	}
	if !modes["run_modes"] || err != nil {
		return out, err
	}
	v := views[e.Run]
	if v == nil {
		r, err := c.s.o.Runs.Get(c.ctx(), runs.Run, e.Run)
		if errors.Is(err, runs.ErrNotFound) {
			return out, nil // the run was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		d, err := readRun(&r)
		if err != nil {
			return nil, err
		}
		v = newView(&d.Request, d.Temporary)
		views[e.Run] = v
	}
	more, err := v.events(e)
	return append(out, more...), err
}

// followAll calls f for each event of a thread with a larger number than after, until the request ends. It calls skip
// where events are missing.
func (c *call) followAll(log *threadLog, after int64, skip skipFunc, f func(*runs.Event) error) error {
	r := log.reader(after)
	defer r.close()
	for {
		events, missed, changed, err := r.after(c.ctx(), after)
		if missed > 0 {
			after += missed
			err = skip(missed, after)
		}
		if err != nil {
			return err
		}
		for i := range events {
			after = events[i].Seq
			if err := f(&events[i]); err != nil {
				return err
			}
		}
		if changed == nil {
			continue
		}
		select {
		case <-changed:
		case <-c.ctx().Done():
			return c.ctx().Err()
		case <-c.s.ctx.Done():
			return errClosed
		}
	}
}
