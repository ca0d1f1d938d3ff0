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
	c.located(&activeRun{thread: r.Parent, id: r.ID}, c.r.PathValue("thread") == "", "/join")
	if err := c.s.cancelRuns(c.ctx(), []string{r.ID}, action == multitaskRollback, c.flag("wait")); err != nil {
		return err
	}
	if c.flag("wait") {
		return c.send(emptyObject)
	}
	return c.sendStatus(http.StatusAccepted, emptyObject)
}

// cancelMany cancels runs of a thread, or all with a status.
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
	if err := c.s.cancelRuns(c.ctx(), ids, c.r.URL.Query().Get("action") == multitaskRollback, true); err != nil {
		return err
	}
	return c.sendNothing()
}
