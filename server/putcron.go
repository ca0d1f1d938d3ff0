package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A Cron starts runs by a schedule, each on a new thread. See [Server.PutCron].
type Cron struct {
	// Name is unique among the crons that a program makes for a user.
	Name string
	// Assistant is the name of a graph, or the id of an assistant.
	Assistant string
	// Schedule has five fields: minute, hour, day of the month, month, day of the week. Timezone is a name of the IANA
	// data base, such as Europe/Athens. Empty means UTC.
	Schedule, Timezone string
	// Input is encoded as JSON. It has the form that clients send: an object with the names of channels as keys, such as
	//
	//	map[string]any{"messages": []any{map[string]string{"role": "user", "content": "write the report"}}}
	Input any
	// Keep says that the thread of each run is kept. Otherwise the thread is deleted a minute or two after its run has
	// ended without a pause or an error. A thread that waits for an answer, or whose run has failed, is kept, unless
	// [Options].ThreadTTL deletes it later: a cron that fails each minute keeps 1,440 threads a day.
	Keep bool
	// User is the user that makes the cron and starts its runs, and owns the cron unless [Options.Authorize] sets
	// another owner. User may be zero on a server without [Options.Auth]. The server asks [Options.Authorize] as for a
	// request of the user.
	User User
}

// PutCron makes a cron, or changes the cron with the same name and user, and returns its id. A program calls it at each
// start, on any number of servers that share a store. If the arguments are those of the last call, the stored cron stays
// unchanged, even if a client has changed it or switched it off. If the arguments differ, they replace the cron, and a
// cron that was switched off stays off. PutCron returns a [Refusal] with the reason if all runs of the cron would fail. A
// cron stays until it is deleted with DELETE /runs/crons/{cron_id}.
func (s *Server) PutCron(ctx context.Context, cron Cron) (id string, err error) {
	r, err := s.putCron(ctx, &cron)
	if err != nil {
		return "", fmt.Errorf("server: cron %q: %w", cron.Name, err)
	}
	return r.ID, nil
}

func (s *Server) putCron(ctx context.Context, cron *Cron) (r runs.Record, err error) {
	switch {
	case s.o.ReadOnly:
		return r, errReadOnly
	case cron.Name == "":
		return r, errors.New("it has no name")
	case s.o.Auth != nil && cron.User.ID == "":
		return r, errors.New("it has no user, which a server with Options.Auth needs")
	}
	data, err := cron.request()
	if err != nil {
		return r, err
	}
	request, err := http.NewRequestWithContext(withUser(ctx, cron.User.ID), http.MethodPost, "/runs/crons", nil)
	if err != nil {
		return r, err
	}
	c := &call{s: s, r: request, user: cron.User, action: ActionUpdate}
	r, d, err := c.newCron(data)
	if err != nil {
		return r, err
	}
	r.ID = nameID("cron of the program", string(encoded([]string{cron.User.ID, cron.Name})))
	return c.insertOnce(r, d, data, func(found runs.Record) (runs.Record, error) { return c.replaceCron(found.ID, &r, d, data) })
}

// request returns the cron as the body of a request.
func (cron *Cron) request() (json.RawMessage, error) {
	body := map[string]any{"assistant_id": cron.Assistant, "schedule": cron.Schedule, "input": cron.Input}
	if cron.Timezone != "" {
		body["timezone"] = cron.Timezone
	}
	if cron.Keep {
		body["on_run_completed"] = "keep"
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("its input cannot be encoded: %w", err)
	}
	return data, nil
}

// replaceCron replaces the schedule and the runs of a stored cron.
func (c *call) replaceCron(id string, by *runs.Record, d cronData, data json.RawMessage) (runs.Record, error) {
	d.Sent = digest(data)
	var next *time.Time
	r, err := c.s.change(c.ctx(), runs.Cron, id, func(r *runs.Record) error {
		_, before, err := readCron(*r)
		if err != nil {
			return err
		}
		d.Enabled, d.User = before.Enabled, before.User
		if err := d.comes(now()); err != nil {
			return err
		}
		next, r.Updated, r.Graph, r.Data = d.Next, now(), by.Graph, encoded(d)
		return nil
	})
	if err == nil {
		c.s.schedule(id, next)
	}
	return r, err
}
