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

If servers share a queue in PostgreSQL (package riverqueue), -db also prints what that queue has.
`

// A queueRow counts the runs of a user.
type queueRow struct {
	User    string     `json:"user"`
	Waiting int        `json:"waiting"`
	Oldest  *time.Time `json:"oldest,omitempty"` // the time since which the first waiting run waits
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
	var shared *sharedQueue
	if server.queue != nil {
		if shared, err = readQueue(ctx, server, c.now()); err != nil {
			return err
		}
	}
	return c.printQueue(list, shared)
}

// A sharedQueue has the counts of the queue that servers share.
type sharedQueue struct {
	Waiting   int        `json:"waiting"` // threads with a run that a server could execute
	Held      int        `json:"held"`    // threads whose user already has the maximum number of running runs
	Running   int        `json:"running"`
	Scheduled int        `json:"scheduled"` // delayed runs, and crons
	Oldest    *time.Time `json:"oldest,omitempty"`
}

func readQueue(ctx context.Context, c *client, now time.Time) (*sharedQueue, error) {
	st, err := c.queue(ctx)
	q := &sharedQueue{Waiting: st.Waiting, Held: st.Held, Running: st.Running, Scheduled: st.Scheduled}
	if st.Waiting+st.Held > 0 {
		since := now.Add(-st.Oldest).UTC()
		q.Oldest = &since
	}
	return q, err
}

// printQueue counts and prints runs.
func (c *call) printQueue(list []runView, shared *sharedQueue) error {
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
		report := map[string]any{"waiting": total.Waiting, "oldest": total.Oldest, "delayed": total.Delayed, "running": total.Running, "users": rows}
		if shared != nil {
			report["shared"] = shared
		}
		return printJSON(c.out, report)
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
	if q := shared; q != nil {
		oldest := ""
		if q.Oldest != nil {
			oldest = ", the first since " + c.ago(*q.Oldest)
		}
		say(c.out, "\nThe queue of the servers: %s waiting (%d held by the limit of a user)%s; %d running, %d scheduled.",
			counted(q.Waiting+q.Held, "thread"), q.Held, oldest, q.Running, q.Scheduled)
	}
	return nil
}
