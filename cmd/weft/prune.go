package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

const pruneUsage = `usage: weft threads prune [THREAD...] -keep-last N [-keep-for TIME] [-delete-idle TIME] [flags]

Removes old checkpoints. It keeps a checkpoint if it is one of the newest N of its namespace, or younger than
TIME, or has an open question or another pending write, or has a tag. The newest checkpoint always stays, and
the states that stay do not change. With the checkpoint at which a subgraph was called, the checkpoints of that
call go. Without names it prunes all threads, which needs -all.

-delete-idle deletes whole threads whose newest checkpoint is older. Threads that a run holds, that wait for an
answer, that have failed or that have a tag stay. A thread whose tasks are due and whose process has died is
deleted: look at weft threads list -status running first. Without -keep-last and -keep-for, other threads keep all
their checkpoints. What a server keeps of a thread is not removed: a server has a retention of its own.

-dry-run removes nothing, and prints what would go. To find the threads of a SQLite file that a run holds, it
takes their leases for a moment.
`

func runPrune(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, pruneUsage).ofDatabase().asJSON()
	p, all, dry := checkpoint.PrunePolicy{}, false, false
	keepFor, idle, forget := span(0), span(0), false
	c.flags.IntVar(&p.KeepLast, "keep-last", 0, "keep this `NUMBER` of the newest checkpoints of each namespace")
	c.flags.Var(&keepFor, "keep-for", "keep checkpoints that are younger than this `TIME`, such as 12h or 30d")
	c.flags.Var(&idle, "delete-idle", "delete threads whose newest checkpoint is older than this `TIME`")
	c.flags.BoolVar(&forget, "prune-pending", false, "remove old checkpoints and idle threads with pending writes, too")
	c.flags.BoolVar(&all, "all", false, "prune all threads")
	c.flags.BoolVar(&dry, "dry-run", false, "remove nothing, and print what would go")
	if err := c.parse(args, "[THREAD...]"); err != nil {
		return err
	}
	switch {
	case p.KeepLast < 0 || p.KeepLast == 0 && keepFor == 0 && idle == 0:
		return fmt.Errorf("%w: say what stays: give -keep-last, -keep-for or both, or -delete-idle alone", errUsage)
	case all == (len(c.args) > 0):
		return fmt.Errorf("%w: name threads, or give -all", errUsage)
	}
	p.Threads, p.KeepFor, p.KeepPending, p.DeleteIdle = c.args, time.Duration(keepFor), !forget, time.Duration(idle)
	db, err := c.source.opened(ctx, c.source.keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	if err := exist(ctx, db.checkpoints, p.Threads); err != nil {
		return err
	}
	if dry {
		return c.printOutdated(ctx, db, p)
	}
	pruner, ok := db.checkpoints.(checkpoint.Pruner)
	if !ok {
		return fmt.Errorf("the store cannot prune: %w", errors.ErrUnsupported)
	}
	var did checkpoint.PruneProgress
	p.Progress = func(now checkpoint.PruneProgress) { did = now }
	n, err := pruner.Prune(ctx, p)
	if err != nil {
		return fmt.Errorf("after %s were removed: %w", counted(max(n, did.Checkpoints), "checkpoint"), err)
	}
	if c.json {
		return printJSON(c.out, map[string]int{"removed": n, "deleted": did.Threads})
	}
	text := ""
	if idle > 0 {
		text = ", and deleted " + counted(did.Threads, "thread")
	}
	say(c.out, "Removed %s%s.", counted(n, "checkpoint"), text)
	return nil
}

// A prunedThread has the numbers of checkpoints of a thread that a prune would remove and keep.
type prunedThread struct {
	ID      string `json:"id"`
	Stay    int    `json:"stay"`
	Removed int    `json:"remove"`
	Error   string `json:"error,omitempty"` // the reason why the thread cannot be read
}

// exist returns an error if one of the threads does not exist.
func exist(ctx context.Context, s checkpoint.Store, threads []string) error {
	for _, id := range threads {
		found := false
		for _, err := range s.List(ctx, checkpoint.Query{Thread: id, AllNamespaces: true, Limit: 1}) {
			if err != nil && !damaged(err) {
				return err
			}
			found = true
		}
		if !found {
			return missing(id, "")
		}
	}
	return nil
}

func (c *call) printOutdated(ctx context.Context, db *store, p checkpoint.PrunePolicy) error {
	out, total, found, bad := newTable(c.out, "THREAD", "REMOVE", "STAY"), 0, 0, unreadables{}
	for id, err := range named(ctx, db.checkpoints, p.Threads, "") {
		t := prunedThread{ID: id}
		if err == nil {
			t.Removed, t.Stay, err = outdated(ctx, db, id, p, c.now())
		}
		if err != nil {
			if id == "" {
				return err
			}
			if err = fmt.Errorf("thread %q: %w", id, err); !damaged(err) {
				return err
			}
			t.Error = err.Error()
		}
		if t.Removed == 0 && err == nil {
			continue
		}
		if bad.add(t.Error); err == nil {
			total, found = total+t.Removed, found+1
		}
		if err := c.printOutdatedThread(out, t); err != nil {
			return err
		}
	}
	if !c.json {
		if found+bad.n > 0 {
			out.flush()
		}
		say(c.out, "This would remove %s of %s.", counted(total, "checkpoint"), counted(found, "thread"))
	}
	return bad.err()
}

func (c *call) printOutdatedThread(out *table, t prunedThread) error {
	if c.json {
		return printLine(c.out, t)
	}
	if t.Error != "" {
		out.row(t.ID, unreadable, "")
		return nil
	}
	out.row(t.ID, strconv.Itoa(t.Removed), strconv.Itoa(t.Stay))
	return nil
}

// outdated returns the numbers of checkpoints of a thread that a policy removes and keeps.
func outdated(ctx context.Context, db *store, thread string, p checkpoint.PrunePolicy, now time.Time) (remove, stay int, err error) {
	tagged, err := db.tagged(ctx, thread)
	if err != nil {
		return 0, 0, err
	}
	newer, gone := map[string]int{}, map[string]bool{}
	spaces := map[string][]string{}
	total, youngest, pending := 0, time.Time{}, false
	for c, err := range db.checkpoints.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return 0, 0, err
		}
		if !p.Keeps(newer[c.Namespace], now.Sub(c.Time), len(c.Writes) > 0) && !tagged[c.ID] {
			gone[c.ID] = true
		}
		if c.Time.After(youngest) {
			youngest = c.Time
		}
		pending = pending || newer[c.Namespace] == 0 && len(c.Writes) > 0
		total++
		newer[c.Namespace]++
		spaces[c.Namespace] = append(spaces[c.Namespace], c.ID)
	}
	if total > 0 && len(tagged) == 0 && p.Deletes(now.Sub(youngest), pending) {
		held, err := db.held(ctx, []string{thread}, false)
		if err != nil {
			return 0, 0, err
		}
		if !held[thread] {
			return total, 0, nil
		}
	}
	if p.OnlyDeletes() {
		return 0, total, nil
	}
	endCalls(spaces, gone)
	return len(gone), total - len(gone), nil
}

// endCalls adds the checkpoints of a subgraph to gone if gone has the checkpoint that called the subgraph.
func endCalls(spaces map[string][]string, gone map[string]bool) {
	for _, namespace := range sortedKeys(spaces) { // a namespace comes after the namespace of its caller
		_, caller, called := checkpoint.CalledAt(namespace)
		if !called || !gone[caller] {
			continue
		}
		for _, id := range spaces[namespace] {
			gone[id] = true
		}
	}
}

// tagged returns the ids of the checkpoints with tags, which a prune keeps.
func (s *store) tagged(ctx context.Context, thread string) (map[string]bool, error) {
	if s.tags == nil {
		return nil, nil
	}
	tags, err := s.tags(ctx, thread)
	out := map[string]bool{}
	for _, k := range tags {
		out[k.ID] = true
	}
	return out, err
}

// named yields the names. Without names, it yields the ids of all threads whose id begins with the prefix.
func named(ctx context.Context, s checkpoint.Store, names []string, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range names {
			if !yield(name, nil) {
				return
			}
		}
		if len(names) > 0 {
			return
		}
		lister, ok := s.(checkpoint.ThreadLister)
		if !ok {
			yield("", fmt.Errorf("the store cannot list threads: %w", errors.ErrUnsupported))
			return
		}
		for info, err := range lister.ListThreads(ctx, prefix) {
			if !yield(info.ID, err) {
				return
			}
		}
	}
}
