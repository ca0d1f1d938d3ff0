package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/internal/uuid"
)

// A resumer resumes many threads of a server.
type resumer struct {
	*call
	server *client
	graph  string // the graph for threads that no run of the server has used
	key    string // the idempotency key of the requests for runs: a repeated request starts no second run of its thread

	all    bool
	dryRun bool
	status string
	atOnce int
	filter threadFilter

	due     []threadRow          // the threads that are not resumed yet
	seen    map[string]bool      // the ids of the threads that were found
	running map[string]threadRow // the threads whose run has not ended, by the id of the run
	pause   time.Time            // the time before which no run is started
	silent  time.Time            // the time since which the server has been unavailable; zero if it is available
	count   map[string]int       // ended runs by status
	failed  int                  // threads that could not be resumed
	bad     map[string]bool      // threads that could not be resumed, or with a run that did not succeed
	busy    int                  // threads that already had a run
}

// manyFlags adds the flags of a command for many threads.
func (c *call) manyFlags() *resumer {
	m := &resumer{key: uuid.New(), seen: map[string]bool{}, bad: map[string]bool{}, running: map[string]threadRow{}, count: map[string]int{}, filter: threadFilter{now: c.now()}}
	c.flags.BoolVar(&m.all, "all", false, "continue all threads that have failed, or that the following flags select")
	c.flags.StringVar(&m.status, "status", failed, "with -all, threads with this `STATUS`: failed, paused, or failed,paused")
	c.flags.StringVar(&m.filter.node, "node", "", "with -all, only threads with a due task of this `NODE`; it reads the state of each thread")
	c.flags.Var(&m.filter.older, "older", "with -all, only threads without a change for this `TIME`, such as 12h or 30d")
	c.flags.Var(&m.filter.newer, "newer", "with -all, only threads with a change within this `TIME`")
	c.flags.IntVar(&m.atOnce, "at-once", 10, "with -all, the `NUMBER` of runs that it starts before it waits for the end of one")
	c.flags.BoolVar(&m.dryRun, "dry-run", false, "with -all, start no run, and list the threads")
	return m
}

// check returns an error if flags conflict. It sets the statuses of the filter.
func (m *resumer) check(c *call) error {
	if !m.all {
		var needs []string
		c.flags.Visit(func(f *flag.Flag) {
			if slices.Contains([]string{"status", "node", "older", "newer", "at-once", "dry-run"}, f.Name) {
				needs = append(needs, "-"+f.Name)
			}
		})
		switch {
		case len(needs) > 0:
			return fmt.Errorf("%w: %s needs -all", errUsage, strings.Join(needs, ", "))
		case len(c.args) == 0:
			return fmt.Errorf("%w: the argument THREAD is missing; -all continues all threads that have failed", errUsage)
		}
		return nil
	}
	if len(c.args) > 0 {
		return fmt.Errorf("%w: give a thread or -all, and not both", errUsage)
	}
	if m.atOnce < 1 {
		return fmt.Errorf("%w: -at-once is %d; it is at least 1", errUsage, m.atOnce)
	}
	m.filter.statuses = strings.Split(m.status, ",")
	for _, s := range m.filter.statuses {
		if s != failed && s != paused {
			return fmt.Errorf("%w: -status is %q; it is failed, paused, or failed,paused: another thread has a run or is done", errUsage, s)
		}
	}
	return nil
}

const (
	// serverPatience is the time for which the command repeats a request if the server does not answer or rejects it temporarily.
	serverPatience = 2 * time.Minute
	serverPause    = time.Second
)

// resume resumes the threads. It starts no run while m.atOnce or more of its runs have not ended.
func (m *resumer) resume(ctx context.Context) error {
	err := m.find(ctx)
	for err == nil && len(m.due)+len(m.running) > 0 {
		err = m.start(ctx)
		if err == nil {
			err = m.wait(ctx)
		}
		if err == nil && len(m.due)+len(m.running) == 0 { // the list may have missed threads, because others changed meanwhile
			err = m.findMore(ctx)
		}
	}
	return m.summary(err)
}

// list prints the threads that the command would resume.
func (m *resumer) list(ctx context.Context) error {
	if err := m.find(ctx); err != nil {
		return err
	}
	for i := range m.due {
		lost, err := (&servedThreads{m.server}).lost(ctx, m.due[i].ID)
		if err != nil {
			return err
		}
		text := "would be continued"
		if len(lost) > 0 {
			text = fmt.Sprintf("would start %s again, which stored no input", counted(len(lost), "run"))
		}
		m.line(&m.due[i], "", text, "")
	}
	if len(m.due) == 0 {
		say(m.err, "There are no such threads.")
	}
	return nil
}

// find adds the threads that it has not found before to m.due.
func (m *resumer) find(ctx context.Context) error {
	for row, err := range (&servedThreads{m.server}).list(ctx, &m.filter) {
		if err != nil {
			return err
		}
		if !m.seen[row.ID] {
			m.seen[row.ID] = true
			m.due = append(m.due, row)
		}
	}
	return nil
}

// findMore is like find, but repeats the request if the server does not answer.
func (m *resumer) findMore(ctx context.Context) error {
	for {
		err := m.find(ctx)
		if again, failure := m.again(ctx, err); failure != nil || !again {
			return cmp.Or(failure, err)
		}
		select {
		case <-time.After(m.pause.Sub(m.now())):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// start starts runs for due threads until m.atOnce runs are unfinished. It returns an error if the server is unavailable for
// longer than serverPatience.
func (m *resumer) start(ctx context.Context) error {
	for len(m.due) > 0 && len(m.running) < m.atOnce && !m.now().Before(m.pause) {
		row := m.due[0]
		graph := cmp.Or(row.Graph, m.graph)
		if graph == "" {
			m.due = m.due[1:]
			m.cannot(&row, errors.New("no run of the server has used it; name its graph with -graph"))
			continue
		}
		started, err := (&servedThreads{m.server}).start(ctx, row.ID, graph, "reject", m.key)
		for i := range started {
			m.running[started[i].ID] = row
		}
		if again, failure := m.again(ctx, err); failure != nil {
			return failure
		} else if again {
			return nil
		}
		m.due = m.due[1:]
		switch {
		case err == nil:
		case hasStatus(err, http.StatusConflict):
			m.busy++
			m.line(&row, "", "busy", err.Error())
		default:
			m.cannot(&row, err)
		}
	}
	return nil
}

// again reports whether to repeat a request after a pause, because the server does not answer or rejects the request
// temporarily. It returns an error if the server is unavailable, or asks for a pause, for longer than
// serverPatience.
func (m *resumer) again(ctx context.Context, err error) (bool, error) {
	refusal, answered := errors.AsType[*statusError](err)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil || answered && !refusal.temporary():
		m.silent = time.Time{}
		return false, nil
	case answered && refusal.after > serverPatience:
		return false, err
	case m.silent.IsZero():
		m.silent = m.now()
	case m.now().Sub(m.silent) > serverPatience:
		return false, err
	}
	m.pause = m.now().Add(serverPause)
	if answered {
		m.pause = m.now().Add(max(refusal.after, serverPause))
	}
	return true, nil
}

// wait waits for joinPause, and prints the runs that have ended.
func (m *resumer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(joinPause):
	}
	if len(m.running) == 0 {
		return nil
	}
	ids := sortedKeys(m.running)
	list, err := m.server.runs(ctx, map[string]any{"run_ids": ids}, 0)
	if again, failure := m.again(ctx, err); again || failure != nil {
		return failure
	}
	if err != nil {
		return err
	}
	by := map[string]runView{}
	for _, r := range list {
		by[r.ID] = r
	}
	for _, id := range ids {
		r, found := by[id]
		if found && slices.Contains(waiting, r.Status) {
			continue
		}
		row, text := m.running[id], ""
		delete(m.running, id)
		if !found {
			r.Status = "removed"
		}
		if r.Error != nil {
			text = r.Error.Error + ": " + r.Error.Message
		}
		m.count[r.Status]++
		if r.Status != "success" {
			m.bad[row.ID] = true
		}
		m.line(&row, id, r.Status, text)
	}
	return nil
}

// cannot counts and prints a thread that could not be resumed.
func (m *resumer) cannot(row *threadRow, err error) {
	m.failed++
	m.bad[row.ID] = true
	m.line(row, "", "not continued", err.Error())
}

// line prints how the run of a thread ended, or why no run was started.
func (m *resumer) line(row *threadRow, run, status, text string) {
	if m.json {
		_ = printLine(m.out, map[string]string{"thread_id": row.ID, "run_id": run, "status": status, "message": text}) // ignore the error: the other threads are still resumed
		return
	}
	if text != "" {
		status += ": " + oneLine(text, 300)
	}
	say(m.out, "%s  %s", cell(row.ID), cell(status))
}

// summary prints how many threads were resumed. It returns err or, if err is nil, an error if a thread could not be resumed or
// its run did not succeed.
func (m *resumer) summary(err error) error {
	out := m.out
	if m.json {
		out = m.err
	}
	var parts []string
	for _, status := range sortedKeys(m.count) {
		parts = append(parts, fmt.Sprintf("%d %s", m.count[status], status))
	}
	for _, p := range []struct {
		n    int
		text string
	}{{m.failed, "not continued"}, {m.busy, "with a run already"}, {len(m.running), "whose run goes on"}, {len(m.due), "left"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if len(m.seen) == 0 {
		if err == nil {
			say(m.err, "There are no such threads.")
		}
		return err
	}
	say(out, "%s: %s.", counted(len(m.seen), "thread"), strings.Join(parts, ", "))
	if len(m.bad) > 0 && err == nil {
		err = fmt.Errorf("%s of %d did not succeed", counted(len(m.bad), "thread"), len(m.seen))
	}
	return err
}
