package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

var runCommands = []command{
	{"list", "list runs by status, thread and graph", runRuns, nil},
	{"show", "print a run", runShowRun, nil},
	{"join", "wait for the end of a run", runJoin, nil},
	{"cancel", "cancel a run on its server", runCancelRun, nil},
}

// A runView is a run of a server.
type runView struct {
	ID      string     `json:"run_id"`
	Thread  string     `json:"thread_id"`
	Graph   string     `json:"graph_id"`
	Status  string     `json:"status"`
	User    string     `json:"user_id,omitempty"`
	Attempt int        `json:"attempt"`
	Created time.Time  `json:"created_at"`
	After   *time.Time `json:"begins_after,omitempty"`
	Began   *time.Time `json:"began_at,omitempty"`
	Ended   *time.Time `json:"ended_at,omitempty"`
	Error   *struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// The statuses of runs that have not ended.
var waiting = []string{"pending", "running"}

// runs returns the runs that a query selects, the newest first unless the query sets another order. A limit
// of 0 means all.
func (c *client) runs(ctx context.Context, query map[string]any, limit int) ([]runView, error) {
	const page = 1000
	var out []runView
	for {
		query["limit"], query["offset"] = page, len(out)
		if limit > 0 {
			query["limit"] = min(page, limit-len(out))
		}
		var found struct {
			Runs  []runView `json:"runs"`
			Total int       `json:"total"`
		}
		if err := c.call(ctx, http.MethodPost, "/weft/runs/search", query, &found); err != nil {
			return nil, err
		}
		out = append(out, found.Runs...)
		if len(found.Runs) == 0 || len(out) >= found.Total || limit > 0 && len(out) >= limit {
			return out, nil
		}
	}
}

// run returns the run with an id.
func (c *client) run(ctx context.Context, id string) (*runView, error) {
	list, err := c.runs(ctx, map[string]any{"run_ids": []string{id}}, 1)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("there is no run %q; weft runs list prints the ids", id)
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

const runsUsage = `usage: weft runs list [flags]

Lists the runs of a server, the newest first: of a running server with -server, or those that a server has
stored in a database with -db.

  STATUS  pending (it waits), running, success (also if a question is open), error, timeout, interrupted
  USER    the user that started it
  TOOK    the time of the execution so far
`

func runRuns(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, runsUsage).ofDatabase().ofServer().asJSON()
	query, status, limit := map[string]any{}, "", 50
	c.flags.StringVar(&status, "status", "", "only runs with this `STATUS`, or one of several separated by commas")
	c.flags.IntVar(&limit, "limit", limit, "at most this `NUMBER` of runs; 0 means all")
	for name, field := range map[string]string{"thread": "thread_id", "graph": "graph_id", "user": "user_id"} {
		c.flags.Func(name, "only runs of this `"+strings.ToUpper(name)+"`", func(text string) error { query[field] = text; return nil })
	}
	if err := c.parse(args); err != nil {
		return err
	}
	if limit < 0 {
		return fmt.Errorf("%w: -limit is %d; it cannot be negative", errUsage, limit)
	}
	if status != "" {
		query["status"] = strings.Split(status, ",")
	}
	server, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	asked := limit
	if limit > 0 {
		asked++ // to see whether there are more
	}
	list, err := server.runs(ctx, query, asked)
	if err != nil {
		return err
	}
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		defer say(c.err, "The list has ended after %s; -limit 0 lists all.", counted(limit, "run"))
	}
	return c.printRuns(list)
}

func (c *call) printRuns(list []runView) error {
	if !c.json && len(list) == 0 {
		say(c.err, "There are no such runs.")
		return nil
	}
	var out *table
	if !c.json {
		out = newTable(c.out, "RUN", "STATUS", "GRAPH", "USER", "CREATED", "AGE", "TOOK", "THREAD")
		defer out.flush()
	}
	for i := range list {
		r := &list[i]
		if c.json {
			if err := printLine(c.out, r); err != nil {
				return err
			}
			continue
		}
		out.row(r.ID, r.Status, r.Graph, r.User, r.Created.UTC().Format(time.RFC3339), c.ago(r.Created), r.took(c.now()), r.Thread)
	}
	return nil
}

// took returns the duration of the execution so far, or "" if the run has not begun.
func (r *runView) took(now time.Time) string {
	switch {
	case r.Began == nil:
		return ""
	case r.Ended != nil:
		now = *r.Ended
	}
	if d := now.Sub(*r.Began); d < time.Minute {
		return d.Round(10 * time.Millisecond).String()
	}
	return short(now.Sub(*r.Began))
}

const showRunUsage = `usage: weft runs show RUN [flags]

Prints a run: its status, its times, its attempts and its error.
`

func runShowRun(ctx context.Context, args []string, std *streams) error {
	return withRun(ctx, args, std, showRunUsage, func(c *call, _ *client, r *runView) error { return c.printRun(r) })
}

// withRun calls a function with the run that the argument names.
func withRun(ctx context.Context, args []string, std *streams, usage string, fn func(*call, *client, *runView) error) (err error) {
	c := newCall(std, usage).ofDatabase().ofServer().asJSON()
	if err := c.parse(args, "RUN"); err != nil {
		return err
	}
	server, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	r, err := server.run(ctx, c.args[0])
	if err != nil {
		return err
	}
	return fn(c, server, r)
}

func (c *call) printRun(r *runView) error {
	if c.json {
		return printJSON(c.out, r)
	}
	at := func(title string, t *time.Time) {
		if t != nil {
			say(c.out, "%-9s%s", title, t.UTC().Format(time.RFC3339))
		}
	}
	say(c.out, "run      %s\nstatus   %s\ngraph    %s\nthread   %s", cell(r.ID), cell(r.Status), cell(r.Graph), cell(r.Thread))
	if r.User != "" {
		say(c.out, "user     %s", cell(r.User))
	}
	at("created", &r.Created)
	at("after", r.After)
	at("began", r.Began)
	at("ended", r.Ended)
	if r.Attempt > 1 {
		say(c.out, "attempt  %d", r.Attempt)
	}
	if r.Error != nil {
		say(c.out, "error    %s: %s", cell(r.Error.Error), oneLine(r.Error.Message, 1000))
	}
	return nil
}

const joinUsage = `usage: weft runs join RUN [flags]

Waits for the end of a run and prints it. The exit status is 1 if the run has failed.
`

// joinPause is the time between two requests for the status of a run.
const joinPause = 500 * time.Millisecond

func runJoin(ctx context.Context, args []string, std *streams) error {
	return withRun(ctx, args, std, joinUsage, func(c *call, server *client, r *runView) error {
		tick := time.NewTicker(joinPause)
		defer tick.Stop()
		for r.Status == "pending" || r.Status == "running" {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-tick.C:
			}
			var err error
			if r, err = server.run(ctx, r.ID); err != nil {
				return err
			}
		}
		err := c.printRun(r)
		if err == nil && r.Status != "success" {
			err = fmt.Errorf("the run has ended with the status %s", r.Status)
		}
		return err
	})
}

const cancelRunUsage = `usage: weft runs cancel RUN -server URL [flags]

Cancels a run and waits for its end. Stored states stay; -rollback removes those that the run has stored.
Name the server that executes the run, or, if servers share a queue, any of them.
`

func runCancelRun(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, cancelRunUsage).ofServer()
	rollback := c.rollback()
	if err := c.parse(args, "RUN"); err != nil {
		return err
	}
	server, err := c.source.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	r, err := server.run(ctx, c.args[0])
	if err != nil {
		return err
	}
	if r.Ended != nil {
		say(c.out, "The run has ended before with the status %s.", cell(r.Status))
		return nil
	}
	where := path(r.Thread) + "/runs/" + url.PathEscape(r.ID) + "/cancel?wait=1&action=" + action(*rollback)
	if err := server.call(ctx, http.MethodPost, where, nil, nil); err != nil {
		if refusal, ok := errors.AsType[*statusError](err); ok && refusal.status == http.StatusNotFound {
			return fmt.Errorf("the run is not cancelled: the token may read it and not cancel it, or the server has just removed it: %w", err)
		}
		return err
	}
	runs, err := server.runs(ctx, map[string]any{"run_ids": []string{r.ID}}, 1)
	switch {
	case err != nil:
		return err
	case len(runs) == 0:
		say(c.out, "The run has ended, and the server has removed it.")
	case slices.Contains(waiting, runs[0].Status):
		return unended(runs, "This server does not execute it:")
	case runs[0].Status == interrupted:
		say(c.out, "The run is cancelled.")
	default:
		say(c.out, "The run has ended with the status %s.", cell(runs[0].Status))
	}
	return nil
}

// interrupted is the status of a run that was cancelled.
const interrupted = "interrupted"

// unended returns the error for runs that the server did not cancel. The reason is a part of its text.
func unended(runs []runView, reason string) error {
	return fmt.Errorf("%s not cancelled: %s has the status %s. %s "+
		"name the server that executes the run, or, if servers share a queue, any of them", counted(len(runs), "run"), runs[0].ID, runs[0].Status, reason)
}
