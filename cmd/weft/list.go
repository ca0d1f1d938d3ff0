package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

const listUsage = `usage: weft threads list [flags]

Lists threads: of a database in the order of their ids, of a server the last changed first. It reads the
threads one by one and prints them as it reads. With the one status paused or failed, a database is asked for
these threads alone, and the list is in the order of nodes and ids.

  STATUS  running (tasks are due), paused (a question is open, or a static pause holds the thread),
          failed (a task has failed), done; with -server, running means that it has a run, and a thread whose run
          was cancelled is paused
          unreadable (the data is damaged; such a thread is listed with any -status and -node, and the exit
          status is 1)
  NODES   the nodes whose tasks are due
  AGE     the time since the last checkpoint, or since the newest open question was asked
`

// A threadFilter selects threads.
type threadFilter struct {
	statuses            []string
	node, prefix, after string
	older, newer        span
	limit               int
	now                 time.Time
}

func (f *threadFilter) check(status string) error {
	if status != "" {
		f.statuses = strings.Split(status, ",")
	}
	for _, s := range f.statuses {
		if !slices.Contains([]string{running, paused, failed, done}, s) {
			return fmt.Errorf("%w: -status is %q; it is running, paused, failed or done, or several of them separated by commas", errUsage, s)
		}
	}
	if f.limit < 0 {
		return fmt.Errorf("%w: -limit is %d; it cannot be negative", errUsage, f.limit)
	}
	return nil
}

// checkSource returns an error for a flag by which a server cannot filter. server is empty if the command reads a database.
func (f *threadFilter) checkSource(server string) error {
	switch {
	case server != "" && f.prefix != "":
		return fmt.Errorf("%w: -prefix needs -db: a server does not search by it", errUsage)
	case server != "" && f.after != "":
		return fmt.Errorf("%w: -after needs -db: a server does not search by it", errUsage)
	}
	return nil
}

// admits applies the parts of the filter that need no checkpoint: the prefix and the age.
func (f *threadFilter) admits(r *threadRow) bool {
	age := f.now.Sub(r.Updated)
	return strings.HasPrefix(r.ID, f.prefix) && (f.older == 0 || age >= time.Duration(f.older)) && (f.newer == 0 || age < time.Duration(f.newer))
}

// byStatus returns the query with which a store finds the threads by their status. ok is false unless the filter has one
// status that a store can find: paused or failed. The value of -after then has the form NODE/ID.
func (f *threadFilter) byStatus() (q checkpoint.StatusQuery, ok bool) {
	if len(f.statuses) != 1 || f.statuses[0] != paused && f.statuses[0] != failed {
		return q, false
	}
	node, id, _ := strings.Cut(f.after, "/")
	return checkpoint.StatusQuery{Status: checkpoint.Status(f.statuses[0]), Node: f.node, After: checkpoint.ThreadStatus{Node: node, Thread: id}}, true
}

// has applies the whole filter. For a thread that cannot be read, it ignores the status and the node.
func (f *threadFilter) has(r *threadRow) bool {
	if r.Status == unreadable {
		return f.admits(r)
	}
	return f.admits(r) && (f.statuses == nil || slices.Contains(f.statuses, r.Status)) && (f.node == "" || slices.Contains(r.Nodes, f.node))
}

func runList(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, listUsage).ofDatabase().ofServer().asJSON()
	f := threadFilter{now: std.now()}
	status := ""
	c.flags.StringVar(&status, "status", "", "only threads with this `STATUS`, or one of several separated by commas")
	c.flags.StringVar(&f.node, "node", "", "only threads with a due task of this `NODE`")
	c.flags.StringVar(&f.prefix, "prefix", "", "only threads whose id begins with this `TEXT`")
	c.flags.Var(&f.older, "older", "only threads without a checkpoint or a new question for this `TIME`, such as 12h or 30d")
	c.flags.Var(&f.newer, "newer", "only threads with a checkpoint within this `TIME`")
	c.flags.IntVar(&f.limit, "limit", 50, "at most this `NUMBER` of threads; 0 means all")
	c.flags.StringVar(&f.after, "after", "", "only threads after this `PLACE`, which the end of a list names")
	if err := errors.Join(c.parse(args), f.check(status)); err != nil {
		return err
	}
	if err := f.checkSource(c.source.server); err != nil {
		return err
	}
	t, err := c.source.threads(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	return c.printThreads(ctx, t, &f)
}

// printThreads prints the threads of a list.
func (c *call) printThreads(ctx context.Context, t threads, f *threadFilter) error {
	var out *table
	n, last, bad := 0, "", unreadables{}
	for row, err := range t.list(ctx, f) {
		if err != nil {
			return err
		}
		if f.limit > 0 && n == f.limit {
			more := "-limit 0 lists all"
			if c.source.server == "" {
				more = "-after " + cell(last) + " lists the next ones"
			}
			defer say(c.err, "The list has ended after %s; %s.", counted(n, "thread"), more)
			break
		}
		n, last = n+1, row.at
		bad.add(row.Error)
		if c.json {
			if err := printLine(c.out, row); err != nil {
				return err
			}
			continue
		}
		if out == nil {
			out = newTable(c.out, "THREAD", "STATUS", "NODES", "STEP", "AGE")
		}
		at := ""
		if row.Step != nil {
			at = strconv.Itoa(*row.Step)
		}
		out.row(row.ID, row.Status, strings.Join(row.Nodes, ","), at, c.ago(row.Updated))
	}
	switch {
	case out != nil:
		out.flush()
	case !c.json && n == 0:
		say(c.err, "There are no such threads.%s", others(ctx, t))
	}
	return bad.err()
}

// unreadables counts the threads that cannot be read, and keeps the first error.
type unreadables struct {
	n     int
	first string
}

// add counts a thread that cannot be read. It ignores an empty text.
func (u *unreadables) add(text string) {
	if text == "" {
		return
	}
	if u.n++; u.n == 1 {
		u.first = text
	}
}

func (u *unreadables) err() error {
	if u.n == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be read: %s", counted(u.n, "thread"), u.first)
}

// others returns the hint that tenants have threads, which a list without -tenant leaves out, or "" if none has any.
func others(ctx context.Context, t threads) string {
	s, ok := t.(*storedThreads)
	if !ok || s.db.tenants == nil {
		return ""
	}
	n, err := s.db.tenants(ctx)
	if err != nil || n == 0 { // the role may have no right to read the table
		return ""
	}
	return " The database has threads of " + counted(n, "tenant") + "; -tenant chooses one."
}
