package runstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/server/runs"
)

var logCases = []testCase{
	{"log/round trip", "Events returns what Append stored.", func(f *fixture) {
		want := []runs.Event{
			{Seq: 1, Run: "r", Time: start, Kind: "kind", Path: "a:1|b:2", Node: "node", Task: "task", Step: 3, Data: json.RawMessage(`{"nul":"\u0000", "lt":"<"}`)},
			{Seq: 2, Run: "s", Time: start.Add(time.Microsecond), Kind: "other", Step: -1},
		}
		f.must(f.store.Append(f.ctx, "t", want))
		got, err := f.store.Events(f.ctx, "t", 0, 0)
		f.must(err)
		equal(f, "number of events", len(got), len(want))
		for i := range got {
			g, w := got[i], want[i]
			equal(f, "time", g.Time.UnixMicro(), w.Time.UnixMicro())
			equal(f, "data", string(g.Data), string(w.Data))
			g.Time, w.Time, g.Data, w.Data = time.Time{}, time.Time{}, nil, nil
			equal(f, "event", fmt.Sprintf("%+v", g), fmt.Sprintf("%+v", w))
		}
	}},
	{"log/pages", "Events returns the events after a number, in order, up to a limit.", func(f *fixture) {
		f.append("t", "r", 4)
		f.append("t", "r", 3)
		f.append("u", "r", 1)
		for _, c := range []struct {
			after int64
			limit int
			want  []int64
		}{
			{0, 0, []int64{1, 2, 3, 4, 5, 6, 7}}, {0, 2, []int64{1, 2}}, {3, 2, []int64{4, 5}}, {5, 9, []int64{6, 7}}, {7, 0, []int64{}}, {99, 1, []int64{}}, {-1, 1, []int64{1}},
		} {
			equal(f, fmt.Sprintf("%d after %d", c.limit, c.after), f.numbers("t", c.after, c.limit), c.want)
		}
		equal(f, "unknown thread", f.numbers("x", 0, 0), []int64{})
		f.wantLast("t", 7, 0)
		f.wantLast("x", 0, 0)
	}},
	{"log/numbers", "Append returns ErrConflict and stores nothing unless the numbers follow the log.", func(f *fixture) {
		f.append("t", "r", 3)
		f.insert(run("x", "t"))
		x := run("x", "t")
		x.Revision, x.Status = 1, "changed"
		for _, first := range []int64{1, 3, 5, 0} {
			f.want(f.store.Append(f.ctx, "t", events("r", first-1, 2), x), runs.ErrConflict)
		}
		f.want(f.store.Append(f.ctx, "t", []runs.Event{{Seq: 4, Run: "r"}, {Seq: 6, Run: "r"}}), runs.ErrConflict)
		f.want(f.store.Append(f.ctx, "new", events("r", 3, 1)), runs.ErrConflict)
		f.wantLast("t", 3, 0)
		f.wantLast("new", 0, 0)
		got, err := f.store.Get(f.ctx, runs.Run, "x")
		f.must(err)
		f.wantRecord(got, run("x", "t"), 1)
	}},
	{"log/with records", "Append replaces records together with the events, or does nothing.", func(f *fixture) {
		f.insert(run("x", "t"), runs.Record{Kind: runs.Thread, ID: "t"})
		x, t := run("x", "t"), runs.Record{Kind: runs.Thread, ID: "t", Status: "idle", Created: start, Updated: start}
		x.Revision, x.Status, t.Revision = 1, "done", 1
		stale := t
		stale.Revision = 7
		f.want(f.store.Append(f.ctx, "t", events("x", 0, 1), x, stale), runs.ErrConflict)
		f.want(f.store.Append(f.ctx, "t", events("x", 0, 1), x, runs.Record{Kind: runs.Cron, ID: "none", Revision: 1}), runs.ErrNotFound)
		bad := t
		bad.Name = "\x00"
		f.want(f.store.Append(f.ctx, "t", events("x", 0, 1), x, bad), runs.ErrInvalid)
		f.wantLast("t", 0, 0)
		f.must(f.store.Append(f.ctx, "t", events("x", 0, 1), x, t))
		for _, want := range []runs.Record{x, t} {
			got, err := f.store.Get(f.ctx, want.Kind, want.ID)
			f.must(err)
			f.wantRecord(got, want, 2)
		}
		f.wantLast("t", 1, 0)
		x.Revision = 2
		f.must(f.store.Append(f.ctx, "t", nil, x)) // without events
		f.wantLast("t", 1, 0)
	}},
	{"log/large batches", "A batch may have many and large events.", func(f *fixture) {
		batch := events("r", 0, 3000)
		batch[7].Data = json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), 4<<20)) + `"`)
		f.must(f.store.Append(f.ctx, "t", batch))
		equal(f, "number of events", len(f.numbers("t", 0, 0)), 3000)
		got, err := f.store.Events(f.ctx, "t", 7, 1)
		f.must(err)
		equal(f, "size", len(got[0].Data), len(batch[7].Data))
	}},
}

var trimCases = []testCase{
	{"trim/count", "Trim keeps the newest events of a log up to a number.", func(f *fixture) {
		f.append("t", "r", 10)
		f.append("u", "r", 10)
		f.trim("t", runs.Bounds{Events: 4}, 6)
		equal(f, "events", f.numbers("t", 0, 0), []int64{7, 8, 9, 10})
		f.wantLast("t", 10, 6)
		equal(f, "events of another thread", len(f.numbers("u", 0, 0)), 10)
		f.trim("t", runs.Bounds{Events: 4}, 0)
		f.trim("t", runs.Bounds{}, 0)
		f.append("t", "r", 2)
		f.trim("", runs.Bounds{Events: 5}, 6)
		equal(f, "events", f.numbers("t", 0, 0), []int64{8, 9, 10, 11, 12})
		equal(f, "events of another thread", f.numbers("u", 0, 0), []int64{6, 7, 8, 9, 10})
		f.trim("none", runs.Bounds{Events: 1}, 0)
	}},
	{"trim/bytes", "Trim keeps the newest events whose data is within a size.", func(f *fixture) {
		f.append("t", "r", 10) // of 11 bytes each
		f.trim("t", runs.Bounds{Bytes: 44}, 6)
		equal(f, "events", f.numbers("t", 0, 0), []int64{7, 8, 9, 10})
		f.trim("t", runs.Bounds{Bytes: 43}, 1)
		f.trim("t", runs.Bounds{Bytes: 1}, 3)
		equal(f, "events", f.numbers("t", 0, 0), []int64{})
		f.wantLast("t", 10, 10)
		f.append("t", "r", 1)
		equal(f, "events", f.numbers("t", 0, 0), []int64{11})
	}},
	{"trim/time", "Trim removes the events before a time, of one thread or of all.", func(f *fixture) {
		f.append("t", "r", 10) // one a second
		f.append("u", "r", 3)
		f.trim("t", runs.Bounds{Since: start.Add(2 * time.Second)}, 2)
		equal(f, "events", f.numbers("t", 0, 0), []int64{3, 4, 5, 6, 7, 8, 9, 10})
		f.trim("", runs.Bounds{Since: start.Add(9 * time.Second)}, 10)
		equal(f, "events", f.numbers("t", 0, 0), []int64{10})
		f.wantLast("t", 10, 9)
		f.wantLast("u", 3, 3)
		f.append("u", "r", 1)
		equal(f, "events", f.numbers("u", 0, 0), []int64{4})
	}},
	{"trim/all bounds", "Trim keeps the events that are within all bounds.", func(f *fixture) {
		f.append("t", "r", 10)
		f.trim("", runs.Bounds{Since: start.Add(time.Second), Events: 8, Bytes: 77}, 3)
		f.trim("", runs.Bounds{Since: start.Add(time.Second), Events: 6, Bytes: 77}, 1)
		f.trim("", runs.Bounds{Since: start.Add(6 * time.Second), Events: 6, Bytes: 77}, 2)
		equal(f, "events", f.numbers("t", 0, 0), []int64{7, 8, 9, 10})
	}},
	{"trim/after a deleted run", "The size of a log counts no events of deleted runs.", func(f *fixture) {
		f.insert(run("a", "t"), run("b", "t"))
		f.append("t", "a", 5)
		f.append("t", "b", 5)
		f.must(f.store.Delete(f.ctx, runs.Run, "a"))
		f.trim("", runs.Bounds{Events: 5, Bytes: 55}, 0)
		f.trim("", runs.Bounds{Events: 4}, 1)
		f.wantLast("t", 10, 6)
	}},
}

func (f *fixture) trim(thread string, keep runs.Bounds, removed int) {
	f.Helper()
	n, err := f.store.Trim(f.ctx, thread, keep)
	f.must(err)
	equal(f, fmt.Sprintf("removed by %+v", keep), n, removed)
}

var taskCases = []testCase{
	{"tasks/round trip", "Tasks returns the tasks of checkpoints in the order in which they were added.", func(f *fixture) {
		list := []runs.Task{{ID: "z", Checkpoint: "c2", Data: json.RawMessage(`{"a": 1}`)}, {ID: "y", Checkpoint: "c1", Data: json.RawMessage(`2`)}, {ID: "x", Checkpoint: "c2"}}
		f.must(f.store.PutTasks(f.ctx, "t", list[:2]))
		f.must(f.store.PutTasks(f.ctx, "t", list[2:]))
		f.must(f.store.PutTasks(f.ctx, "t", nil))
		f.wantTasks("t", []string{"c2"}, `z{"a": 1} x`)
		f.wantTasks("t", []string{"c1", "c2", "c1", "none"}, `z{"a": 1} y2 x`)
		f.wantTasks("t", nil, ``)
		f.wantTasks("u", []string{"c1"}, ``)
	}},
	{"tasks/replace", "PutTasks replaces the data of a task with the same id, which keeps its place.", func(f *fixture) {
		f.must(f.store.PutTasks(f.ctx, "t", []runs.Task{{ID: "a", Checkpoint: "c", Data: json.RawMessage(`1`)}, {ID: "b", Checkpoint: "c"}}))
		f.must(f.store.PutTasks(f.ctx, "t", []runs.Task{{ID: "c", Checkpoint: "c"}, {ID: "a", Checkpoint: "c", Data: json.RawMessage(`2`)}, {ID: "a", Checkpoint: "c", Data: json.RawMessage(`3`)}}))
		f.wantTasks("t", []string{"c"}, `a3 b c`)
	}},
	{"tasks/copy", "CopyTasks copies the tasks of a thread to another one, which then are apart.", func(f *fixture) {
		f.must(f.store.PutTasks(f.ctx, "t", []runs.Task{{ID: "b", Checkpoint: "c", Data: json.RawMessage(`1`)}, {ID: "a", Checkpoint: "c"}}))
		f.must(f.store.CopyTasks(f.ctx, "t", "u"))
		f.must(f.store.CopyTasks(f.ctx, "none", "v"))
		f.must(f.store.PutTasks(f.ctx, "t", []runs.Task{{ID: "b", Checkpoint: "c", Data: json.RawMessage(`2`)}}))
		f.wantTasks("u", []string{"c"}, `b1 a`)
		f.wantTasks("t", []string{"c"}, `b2 a`)
		f.wantTasks("v", []string{"c"}, ``)
	}},
}

func (f *fixture) wantTasks(thread string, checkpoints []string, want string) {
	f.Helper()
	tasks, err := f.store.Tasks(f.ctx, thread, checkpoints...)
	f.must(err)
	got := ""
	for i, t := range tasks {
		if i > 0 {
			got += " "
		}
		got += t.ID + string(t.Data)
	}
	equal(f, "tasks", got, want)
}

var sharingCases = []testCase{
	{"sharing/memory", "The caller may change what it gave to the store, and what the store returned.", func(f *fixture) {
		r := record(runs.Thread, "x")
		metadata, data := bytes.Clone(r.Metadata), bytes.Clone(r.Data)
		e, task := events("x", 0, 1), []runs.Task{{ID: "a", Checkpoint: "c", Data: json.RawMessage(`1`)}}
		f.insert(r)
		f.must(f.store.Append(f.ctx, "t", e))
		f.must(f.store.PutTasks(f.ctx, "t", task))
		spoil := func(list ...json.RawMessage) {
			for _, d := range list {
				for i := range d {
					d[i] = '#'
				}
			}
		}
		spoil(r.Metadata, r.Data, e[0].Data, task[0].Data)
		for range 2 {
			got, err := f.store.Get(f.ctx, runs.Thread, "x")
			f.must(err)
			found, _, err := f.store.Search(f.ctx, runs.Query{Kind: runs.Thread})
			f.must(err)
			log, err := f.store.Events(f.ctx, "t", 0, 0)
			f.must(err)
			tasks, err := f.store.Tasks(f.ctx, "t", "c")
			f.must(err)
			if len(found) != 1 || len(log) != 1 || len(tasks) != 1 {
				f.Fatalf("got %d records, %d events and %d tasks, want 1 of each", len(found), len(log), len(tasks))
			}
			equal(f, "metadata", string(got.Metadata)+string(found[0].Metadata), string(metadata)+string(metadata))
			equal(f, "data", string(got.Data)+string(found[0].Data), string(data)+string(data))
			equal(f, "event", string(log[0].Data), string(events("x", 0, 1)[0].Data))
			equal(f, "task", string(tasks[0].Data), `1`)
			spoil(got.Metadata, got.Data, found[0].Metadata, found[0].Data, log[0].Data, tasks[0].Data)
		}
	}},
}

var concurrencyCases = []testCase{
	{"concurrency/updates", "Of concurrent updates of one revision, one succeeds.", func(f *fixture) {
		f.insert(run("x", "t"))
		for revision := range int64(10) {
			won := f.race(8, func(int) error {
				r := run("x", "t")
				r.Revision = revision + 1
				_, err := f.store.Update(f.ctx, r)
				return err
			}, runs.ErrConflict)
			equal(f, "updates", won, 1)
		}
	}},
	{"concurrency/inserts", "Of concurrent inserts of one id, one succeeds, whole.", func(f *fixture) {
		won := f.race(8, func(i int) error {
			return f.store.Insert(f.ctx, run(fmt.Sprint("own ", i), "t"), run("x", "t"))
		}, runs.ErrExists)
		equal(f, "inserts", won, 1)
		equal(f, "records", len(f.ids(runs.Query{Kind: runs.Run}, 2)), 2)
	}},
	{"concurrency/appends", "Of concurrent appends at one number, one succeeds; logs of threads are apart.", func(f *fixture) {
		for n := range int64(10) {
			won := f.race(8, func(i int) error {
				f.append(fmt.Sprint("own ", i), "r", 2)
				return f.store.Append(f.ctx, "t", events(fmt.Sprint(i), 3*n, 3))
			}, runs.ErrConflict)
			equal(f, "appends", won, 1)
		}
		equal(f, "events", len(f.numbers("t", 0, 0)), 30)
		f.wantLast("own 3", 20, 0)
	}},
	{"concurrency/readers", "A reader beside a writer sees the events without holes.", func(f *fixture) {
		const n = 200
		var written atomic.Bool
		f.race(4, func(i int) error {
			if i == 0 {
				defer written.Store(true)
				for range n / 2 {
					f.append("t", "r", 2)
				}
				return nil
			}
			for after := int64(0); after < n; {
				last := written.Load()
				read := f.numbers("t", after, 7)
				if last && len(read) == 0 {
					return fmt.Errorf("the log ends after event %d, and the writer has written %d", after, n)
				}
				for _, seq := range read {
					if after++; seq != after {
						f.Errorf("got event %d, want %d", seq, after)
						return nil
					}
				}
			}
			return nil
		}, nil)
	}},
}

// race calls do n times concurrently. It returns the number of calls without an error, and fails the case for errors
// other than want.
func (f *fixture) race(n int, do func(i int) error, want error) (won int) {
	f.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = suitetest.Recovered(func() error { return do(i) })
		})
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			f.want(err, want)
		}
	}
	return won
}
