package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

const queueUsage = `usage: weft queue [flags]

Counts the runs that have not ended, of each user: of a running server with -server, or those that a server
has stored in a database with -db. With a server, these are the runs that the user of the token may see.

  WAITING  runs that could begin, if there were room or their thread were free
  OLDEST   the time for which the first of them waits
  DELAYED  runs that begin at a later time
  RUNNING  runs that are executed
`

// A queueRow counts the runs of a user.
type queueRow struct {
	User    string     `json:"user"`
	Waiting int        `json:"waiting"`
	Oldest  *time.Time `json:"oldest,omitempty"` // since when the first one waits
	Delayed int        `json:"delayed"`
	Running int        `json:"running"`
}

// add counts a run.
func (q *queueRow) add(r *runView, now time.Time) {
	since := r.Created
	if r.After != nil && r.After.After(since) {
		since = *r.After
	}
	switch {
	case r.Status == "running":
		q.Running++
	case since.After(now):
		q.Delayed++
	default:
		q.Waiting++
		if q.Oldest == nil || since.Before(*q.Oldest) {
			q.Oldest = &since
		}
	}
}

func runQueue(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, queueUsage).ofDatabase().ofServer().asJSON()
	if err := c.parse(args); err != nil {
		return err
	}
	server, err := c.source.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	list, err := server.runs(ctx, map[string]any{"status": waiting, "sort_order": "asc"}, 0)
	if err != nil {
		return err
	}
	total, users := queueRow{}, map[string]*queueRow{}
	for i := range list {
		r := &list[i]
		if users[r.User] == nil {
			users[r.User] = &queueRow{User: r.User}
		}
		users[r.User].add(r, c.now())
		total.add(r, c.now())
	}
	rows := []*queueRow{}
	for _, user := range sortedKeys(users) {
		rows = append(rows, users[user])
	}
	slices.SortStableFunc(rows, func(a, b *queueRow) int { return b.Waiting - a.Waiting })
	if c.json {
		return printJSON(c.out, map[string]any{"waiting": total.Waiting, "oldest": total.Oldest, "delayed": total.Delayed, "running": total.Running, "users": rows})
	}
	out := newTable(c.out, "USER", "WAITING", "OLDEST", "DELAYED", "RUNNING")
	for _, q := range append(rows, &queueRow{User: "all", Waiting: total.Waiting, Oldest: total.Oldest, Delayed: total.Delayed, Running: total.Running}) {
		oldest := ""
		if q.Oldest != nil {
			oldest = c.ago(*q.Oldest)
		}
		out.row(q.User, strconv.Itoa(q.Waiting), oldest, strconv.Itoa(q.Delayed), strconv.Itoa(q.Running))
	}
	out.flush()
	return nil
}
