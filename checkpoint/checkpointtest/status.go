package checkpointtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

var statusCases = []testCase{
	{name: "list_status/questions_and_failures", needs: needsStatus, promise: "ListStatus yields the nodes whose tasks asked or failed, once for each thread, ordered by node and thread", run: func(f *fixture) {
		for _, thread := range []string{"b", "a", "c"} {
			f.put(thread)
		}
		f.mark("b", ask("review[2]~k"), ask("review[3]"), failure("send"))
		f.mark("a", ask("review"), ask("pay[0]"))
		f.mark("c", failure("send[1]"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "pay a", "review a", "review b")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Failed}, "send b", "send c")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, Node: "review"}, "review a", "review b")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, Node: "revie"})
		for s, err := range f.statusLister().ListStatus(f.ctx, checkpoint.StatusQuery{Status: checkpoint.Paused, Limit: 1}) {
			if at := f.latest("a").Time; err != nil || !s.Time.Equal(at) || s.Status != checkpoint.Paused {
				f.Errorf("got %+v, %v want the time %v of the newest checkpoint", s, err, at)
			}
		}
	}},
	{name: "list_status/pages", needs: needsStatus, promise: "ListStatus continues after an entry, and yields hundreds of threads in order", run: func(f *fixture) {
		var want []string
		for i := range 300 {
			thread, node := fmt.Sprintf("t%03d", i*7%300), fmt.Sprintf("n%d", i%3)
			f.put(thread)
			f.mark(thread, ask(node))
			want = append(want, node+" "+thread)
		}
		slices.Sort(want)
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, want...)
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, Limit: 170}, want[:170]...)
		node, thread, _ := strings.Cut(want[169], " ")
		after := checkpoint.ThreadStatus{Node: node, Thread: thread}
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, After: after, Limit: 20}, want[170:190]...)
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, After: after, Node: "n2"}, want[200:]...)
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused, After: after, Node: "n0"})
	}},
	{name: "list_status/ends", needs: needsStatus, promise: "a status ends with the next checkpoint of the root namespace, with the result of the task, and with the thread", run: func(f *fixture) {
		for _, thread := range []string{"done", "result", "deleted", "child", "begun", "replaced"} {
			f.put(thread)
			f.mark(thread, ask("n"), failure("m"))
		}
		f.put("done", func(c *checkpoint.Checkpoint) { c.Settles = true })
		f.put("begun") // a new input does not settle the pending writes
		f.mark("result", result("n"))
		f.deleteThread("deleted")
		f.put("child", inNamespace("child"))
		f.mark("replaced", checkpoint.Write{Task: "n", Index: -1, Channel: "$gone"})
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n child")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Failed}, "m child", "m replaced", "m result")
	}},
	{name: "list_status/root", needs: needsStatus, promise: "only pending writes of the newest checkpoint of the root namespace give a status", run: func(f *fixture) {
		old := f.put("t")
		f.put("t")
		f.write(old.Key, ask("old"))
		child := f.put("t", inNamespace("child"))
		f.write(child.Key, ask("inner"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused})
		f.mark("t", ask("n"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n t")
	}},
	{name: "list_status/removed_runs", needs: needsStatus, promise: "DeleteRuns gives a thread the status of the checkpoint that becomes the newest", run: func(f *fixture) {
		f.put("t", withRun("r1"))
		f.mark("t", ask("n"))
		f.put("t", withRun("r2"))
		f.mark("t", failure("m"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused})
		if err := f.runDeleter().DeleteRuns(f.ctx, "t", "r2"); err != nil {
			f.Fatal(err)
		}
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n t")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Failed})
	}},
	{name: "list_status/copied_and_pruned", needs: needsStatus, promise: "a copy of a thread has its status, and Prune does not change it", run: func(f *fixture) {
		f.chain("t", 3)
		f.mark("t", ask("n"))
		if err := f.copier().CopyThread(f.ctx, "t", "copy"); err != nil {
			f.Fatal(err)
		}
		f.prune(4, checkpoint.PrunePolicy{})
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n copy", "n t")
	}},
	{name: "list_status/static_pauses", needs: needsStatus, promise: "a static pause gives the status of its node, unless the store is encrypted", run: func(f *fixture) {
		f.put("t")
		f.mark("t", checkpoint.Write{Index: -4, Channel: "$stop", Data: []byte(`[{"kind":"before","node":"x","path":"x"},{"kind":"after","node":"y","path":"y"}]`)})
		f.put("stopped")
		f.mark("stopped", checkpoint.Write{Index: -4, Channel: "$stop", Data: []byte(`null`)})
		if _, encrypted := f.store.(*checkpoint.EncryptedStore); encrypted {
			f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused})
			return
		}
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "x t", "y t")
	}},
	{name: "list_status/retried", needs: needsStatus, promise: "a failure hides the question of its task, and a later question replaces the failure", run: func(f *fixture) {
		for _, thread := range []string{"asked", "forgotten", "again", "at once"} {
			f.put(thread)
			f.mark(thread, ask("n"))
			f.mark(thread, failure("n"))
		}
		forgotten := checkpoint.Write{Task: "n", Index: -2, Channel: "$error"}
		gone := checkpoint.Write{Task: "n", Index: -2, Channel: "$gone"}
		f.mark("forgotten", forgotten)
		f.mark("again", forgotten)
		f.mark("again", ask("n"), gone)
		f.mark("at once", gone, ask("n"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n again", "n at once")
		failed := []string{"n asked"}
		if _, encrypted := f.store.(*checkpoint.EncryptedStore); encrypted {
			failed = append(failed, "n forgotten") // encryption hides that the text of the failure is empty
		}
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Failed}, failed...)
	}},
	{name: "list_status/unreadable_answer", needs: needsStatus, promise: "a failure that leaves the question of its task open does not hide the question, and replaces an earlier failure", run: func(f *fixture) {
		again := failure("n")
		again.Kind = 1
		for _, thread := range []string{"asked", "failed", "failed after", "ended"} {
			f.put(thread)
			f.mark(thread, ask("n"))
		}
		f.mark("asked", again)
		f.mark("failed", failure("n"))
		f.mark("failed", again, ask("n"))
		f.mark("failed after", ask("n"), again)
		f.mark("failed after", failure("n"))
		f.mark("ended", ask("n"), again)
		f.mark("ended", result("n"))
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Paused}, "n asked", "n failed")
		f.wantStatus(checkpoint.StatusQuery{Status: checkpoint.Failed}, "n failed after")
	}},
	{name: "list_status/refused", needs: needsStatus, promise: "ListStatus refuses an unknown status, and ends with an error when its context is done", run: func(f *fixture) {
		f.put("t")
		f.mark("t", ask("n"))
		for _, q := range []checkpoint.StatusQuery{{}, {Status: "busy"}, {Status: checkpoint.Paused, Limit: -1}} {
			for _, err := range f.statusLister().ListStatus(f.ctx, q) {
				f.wantErr("list status", err, checkpoint.ErrInvalid)
			}
		}
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		for _, err := range f.statusLister().ListStatus(ctx, checkpoint.StatusQuery{Status: checkpoint.Paused}) {
			f.wantErr("list status", err, context.Canceled)
		}
	}},
}

var idleCases = []testCase{
	{name: "prune/idle", needs: needsPrune, promise: "DeleteIdle deletes the threads whose newest checkpoint is older, and reports them", run: func(f *fixture) {
		f.chain("a", 3)
		f.put("a", inNamespace("child"))
		f.chain("b", 2)
		f.prune(0, checkpoint.PrunePolicy{DeleteIdle: time.Hour, KeepLast: 10})
		var last checkpoint.PruneProgress
		f.prune(6, checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond, KeepLast: 10, Progress: func(p checkpoint.PruneProgress) { last = p }})
		if want := (checkpoint.PruneProgress{Threads: 2, Checkpoints: 6}); last != want {
			f.Errorf("progress: got %+v want %+v", last, want)
		}
		f.wantMissing(checkpoint.Key{Thread: "a"})
		f.wantMissing(checkpoint.Key{Thread: "b"})
	}},
	{name: "prune/idle_named", needs: needsPrune, promise: "DeleteIdle deletes only the threads that the policy names", run: func(f *fixture) {
		f.chain("a", 2)
		f.put("b")
		f.prune(2, checkpoint.PrunePolicy{Threads: []string{"a", "none"}, DeleteIdle: time.Nanosecond, KeepLast: 10})
		f.wantMissing(checkpoint.Key{Thread: "a"})
		f.latest("b")
	}},
	{name: "prune/idle_pending", needs: needsPrune, promise: "with KeepPending, DeleteIdle keeps a thread that has pending writes", run: func(f *fixture) {
		c := f.put("waits")
		f.write(c.Key, ask("n"))
		f.put("done")
		f.prune(1, checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond, KeepPending: true})
		f.latest("waits")
		f.prune(1, checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
		f.wantMissing(checkpoint.Key{Thread: "waits"})
	}},
	{name: "prune/idle_late_results", needs: needsPrune, promise: "with KeepPending, DeleteIdle counts the pending writes of the newest checkpoint of each namespace only", run: func(f *fixture) {
		old := f.put("done")
		f.put("done")
		f.write(old.Key, result("n"))
		inner := f.chain("done", 2, inNamespace("child"))
		f.write(inner[0].Key, result("n"))
		waits := f.put("waits", inNamespace("child"))
		f.write(waits.Key, ask("n"))
		f.put("waits")
		f.prune(4, checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond, KeepPending: true})
		f.wantMissing(checkpoint.Key{Thread: "done"})
		f.latest("waits")
	}},
	{name: "prune/idle_only", needs: needsPrune, promise: "DeleteIdle without KeepLast and KeepFor keeps the histories of other threads", run: func(f *fixture) {
		made := f.chain("t", 3)
		f.put("t", inNamespace("sub@none"))
		f.prune(0, checkpoint.PrunePolicy{DeleteIdle: time.Hour})
		f.prune(0, checkpoint.PrunePolicy{Threads: []string{"t"}, DeleteIdle: time.Hour, KeepPending: true})
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
		f.prune(3, checkpoint.PrunePolicy{DeleteIdle: time.Hour, KeepLast: 1})
	}},
	{name: "lease/idle", needs: needsLease, promise: "DeleteIdle keeps a thread that a run holds", run: func(f *fixture) {
		pruner, ok := f.store.(checkpoint.Pruner)
		if !ok {
			return
		}
		f.put("held")
		lease, err := f.leaser().Lease(f.ctx, "held")
		if err != nil {
			f.Fatal(err)
		}
		for _, threads := range [][]string{nil, {"held"}} {
			if n, err := pruner.Prune(f.ctx, checkpoint.PrunePolicy{Threads: threads, DeleteIdle: time.Nanosecond}); n != 0 || err != nil {
				f.Errorf("prune: got %d, %v want 0", n, err)
			}
		}
		f.latest("held")
		if err := lease.Release(f.ctx); err != nil {
			f.Fatal(err)
		}
		f.prune(1, checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	}},
}

func ask(task string) checkpoint.Write {
	return checkpoint.Write{Task: task, Index: -1, Channel: "$ask", Data: []byte(`[{"kind":"question"}]`)}
}

func failure(task string) checkpoint.Write {
	return checkpoint.Write{Task: task, Index: -2, Channel: "$error", Data: []byte("no connection")}
}

// result is the last write of a task's result.
func result(task string) checkpoint.Write {
	return checkpoint.Write{Task: task, Channel: "ch", Kind: 0x82, Data: []byte("1")}
}

// mark adds pending writes to the newest checkpoint of a thread.
func (f *fixture) mark(thread string, writes ...checkpoint.Write) {
	f.Helper()
	f.write(f.latest(thread).Key, writes...)
}

func (f *fixture) statusLister() checkpoint.StatusLister { return optional[checkpoint.StatusLister](f) }

// wantStatus fails unless a list has these entries: nodes and threads.
func (f *fixture) wantStatus(q checkpoint.StatusQuery, want ...string) {
	f.Helper()
	var got []string
	for s, err := range f.statusLister().ListStatus(f.ctx, q) {
		if err != nil {
			f.Fatalf("list status %+v: %v", q, err)
		}
		got = append(got, s.Node+" "+s.Thread)
	}
	if !slices.Equal(got, want) {
		f.Errorf("list status %+v: got %s want %s", q, brief(got), brief(want))
	}
}
