package server

import (
	"net/http"

	"github.com/weft-go/weft/server/runs"
)

func (c *call) cancelRun() error {
	r, err := c.pathRun()
	if err != nil {
		return err
	}
	action := c.r.URL.Query().Get("action")
	if action != "" && action != multitaskInterrupt && action != multitaskRollback {
		return invalid("action is %q; it must be interrupt or rollback.", shortened(action))
	}
	if action == multitaskRollback {
		if err := c.mayRollBack(r.ID, r.Parent); err != nil {
			return err
		}
	}
	c.located(&activeRun{thread: r.Parent, id: r.ID}, c.r.PathValue("thread") == "", "/join")
	if err := c.s.cancelRuns(c.ctx(), []string{r.ID}, action == multitaskRollback, c.flag("wait")); err != nil {
		return err
	}
	if c.flag("wait") {
		return c.send(emptyObject)
	}
	return c.sendStatus(http.StatusAccepted, emptyObject)
}

// cancelMany cancels the unfinished runs that the request selects by id, thread and status.
func (c *call) cancelMany() error {
	var b struct {
		Thread string   `json:"thread_id"`
		Runs   []string `json:"run_ids"`
		Status string   `json:"status"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	f, err := c.allow(Access{Resource: ResourceRuns, Action: ActionUpdate})
	if err != nil {
		return err
	}
	q := runs.Query{Kind: runs.Run, Parent: b.Thread, IDs: b.Runs, Filter: f.stored()}
	switch b.Status {
	case "", "all":
		q.Statuses = []string{runPending, runRunning}
	case runPending, runRunning:
		q.Statuses = []string{b.Status}
	default:
		return invalid("status is %q; it must be pending, running or all.", shortened(b.Status))
	}
	if b.Status == "" && len(b.Runs) == 0 {
		return invalid("The request names no runs: it needs run_ids or status.")
	}
	found, _, err := c.s.o.Runs.Search(c.ctx(), q)
	if err != nil {
		return err
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	rollback := c.r.URL.Query().Get("action") == multitaskRollback
	if rollback {
		if err := c.mayRollBackAll(ids); err != nil {
			return err
		}
	}
	if err := c.s.cancelRuns(c.ctx(), ids, rollback, true); err != nil {
		return err
	}
	return c.sendNothing()
}

// errRollback is the refusal of a rollback for a user who may stop a run and may not delete it.
var errRollback = refuse(http.StatusForbidden, "A rollback deletes the states of a run, and the user has no right to delete them. Cancel the run without a rollback.")

// mayRollBack returns an error if the user may not delete the runs of a thread that a rollback undoes. run is empty for
// all runs of the thread.
func (c *call) mayRollBack(run, thread string) error {
	f, err := c.allow(Access{Resource: ResourceRuns, Action: ActionDelete, ID: run})
	if err != nil {
		return err
	}
	t, err := c.s.o.Runs.Get(c.ctx(), runs.Thread, thread)
	if err == nil && !f.has(&t) {
		err = errRollback
	}
	return err
}

// mayRollBackAll returns an error if the user may not delete each of these runs of several threads.
func (c *call) mayRollBackAll(ids []string) error {
	f, err := c.allow(Access{Resource: ResourceRuns, Action: ActionDelete})
	if err != nil || len(ids) == 0 {
		return err
	}
	_, n, err := c.s.o.Runs.Search(c.ctx(), runs.Query{Kind: runs.Run, IDs: ids, Filter: f.stored(), Limit: 1})
	if err == nil && n < len(ids) {
		err = errRollback
	}
	return err
}
