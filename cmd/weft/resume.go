package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

const resumeUsage = `usage: weft threads resume THREAD -server URL [flags]
       weft threads resume -all -server URL [flags]

Starts a run that continues a thread where it stands: after a failure, a static pause, an answer that was
stored, or the death of its process. The run needs the nodes of the graph, and so this needs the server;
a thread without a server is continued by its program, with Thread.Invoke without writes. If the last runs of
the thread have failed before they stored their input, they are started again with this input.

With -all, it continues all threads that have failed, as after an outage, or those that -status, -node, -older
and -newer select. It waits for the end of each run, and prints a line for each thread and a summary. A thread
that has a run already is left out. If a thread cannot be continued or fails again, the others are continued;
then the exit status is 1. If the command is interrupted, runs that it has started go on. With -dry-run it lists
the threads, and whether their last runs would be started again.
`

func runResume(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, resumeUsage).ofServer().asJSON()
	graph := ""
	c.flags.StringVar(&graph, "graph", "", "`NAME` of the graph, if no run of the server has used the thread")
	m := c.manyFlags()
	if err := errors.Join(c.parse(args, "[THREAD]"), m.check(c)); err != nil {
		return err
	}
	server, err := c.source.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	if m.all {
		m.call, m.server, m.graph = c, server, graph
		if m.dryRun {
			return m.list(ctx)
		}
		return m.resume(ctx)
	}
	v, err := (&servedThreads{server}).show(ctx, c.args[0])
	if err != nil {
		return err
	}
	if graph == "" {
		graph = v.Graph
	}
	if graph == "" {
		return fmt.Errorf("%w: no run of the server has used thread %q; name its graph with -graph", errUsage, v.ID)
	}
	started, err := (&servedThreads{server}).start(ctx, v.ID, graph, "", "")
	for i := range started {
		r := &started[i]
		if r.Graph = graph; c.json {
			err = errors.Join(err, printJSON(c.out, r))
			continue
		}
		say(c.out, "The run %s continues the thread; weft runs join %s waits for its end.", r.ID, r.ID)
	}
	return err
}

// start starts a run that resumes a thread. If the last runs of the thread failed before they stored their input, it repeats
// these runs instead. If key is not empty, the server starts only one run that resumes the thread, even if the request is
// repeated.
func (t *servedThreads) start(ctx context.Context, thread, graph, strategy, key string) ([]runView, error) {
	lost, err := t.lost(ctx, thread)
	if err != nil {
		return nil, err
	}
	if len(lost) == 0 {
		var r runView
		body := map[string]any{"assistant_id": graph, "input": nil}
		if strategy != "" {
			body["multitask_strategy"] = strategy
		}
		if err := t.c.callWithKey(ctx, key, http.MethodPost, path(thread)+"/runs", body, &r); err != nil {
			return nil, err
		}
		return []runView{r}, nil
	}
	var out []runView
	for i := range lost {
		r, err := t.retry(ctx, thread, &lost[i])
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

const cancelThreadUsage = `usage: weft threads cancel THREAD -server URL [flags]

Cancels the runs of a thread: the one that is executed, and those that wait. Stored states stay; -rollback
removes those that the runs have stored. Name the server that executes the runs, or, if servers share a queue,
any of them.
`

func runCancelThread(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, cancelThreadUsage).ofServer()
	rollback := c.rollback()
	if err := c.parse(args, "THREAD"); err != nil {
		return err
	}
	server, err := c.source.client()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	list, err := server.runs(ctx, map[string]any{"thread_id": c.args[0], "status": waiting}, 0)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		say(c.out, "The thread has no run that waits or is executed.")
		return nil
	}
	body := map[string]any{"thread_id": c.args[0], "status": "all"}
	if err := server.call(ctx, http.MethodPost, "/runs/cancel?action="+action(*rollback), body, nil); err != nil {
		return err
	}
	return c.printCancelled(ctx, server, list)
}

// printCancelled reads the cancelled runs again, and prints how they ended. It returns an error if one has not ended.
func (c *call) printCancelled(ctx context.Context, server *client, list []runView) error {
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	list, err := server.runs(ctx, map[string]any{"run_ids": ids}, 0)
	if err != nil {
		return err
	}
	var left, ended []runView
	for _, r := range list {
		switch {
		case slices.Contains(waiting, r.Status):
			left = append(left, r)
		case r.Status != interrupted:
			ended = append(ended, r)
		}
	}
	say(c.out, "Cancelled %s.", counted(len(ids)-len(left)-len(ended), "run"))
	for _, r := range ended {
		say(c.out, "The run %s has ended with the status %s.", cell(r.ID), cell(r.Status))
	}
	if len(left) > 0 {
		return unended(left, "The token may read it and not cancel it, or this server does not execute it; in that case")
	}
	return nil
}

// rollback adds the flag of commands that cancel runs.
func (c *call) rollback() *bool {
	return c.flags.Bool("rollback", false, "also remove the states that the runs have stored")
}

func action(rollback bool) string {
	if rollback {
		return "rollback"
	}
	return "interrupt"
}
