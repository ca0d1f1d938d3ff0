package runstest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/server/runs"
)

var recordCases = []testCase{
	{"records/round trip", "Get returns what Insert stored, with revision 1 and times in UTC.", func(f *fixture) {
		zone := time.FixedZone("east", 3600)
		for _, r := range []runs.Record{record(runs.Thread, "full"), {Kind: runs.Cron, ID: "empty", Created: start.In(zone), Updated: start}} {
			f.insert(r)
			got, err := f.store.Get(f.ctx, r.Kind, r.ID)
			f.must(err)
			f.wantRecord(got, r, 1)
		}
	}},
	{"records/data of any JSON", "Metadata and Data may have any JSON.", func(f *fixture) {
		for i, data := range []string{
			`{"nul":"\u0000","half":"\ud800","n":1e400,"big":123456789012345678901234567890}`, `{"a":1,"a":2}`, "{\"bad\":\"\xff\"}",
			`{"e":""}`, `{"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, `{"long":"` + strings.Repeat("x", 1<<20) + `"}`,
		} {
			r := runs.Record{Kind: runs.Thread, ID: fmt.Sprint(i), Created: start, Updated: start, Metadata: json.RawMessage(data), Data: json.RawMessage(data)}
			f.insert(r)
			got, err := f.store.Get(f.ctx, r.Kind, r.ID)
			f.must(err)
			f.wantRecord(got, r, 1)
		}
	}},
	{"records/insert all or none", "Insert of several records stores none if one of them exists.", func(f *fixture) {
		f.insert(record(runs.Run, "b"))
		f.want(f.store.Insert(f.ctx, record(runs.Run, "a"), record(runs.Run, "b")), runs.ErrExists)
		f.want(f.store.Insert(f.ctx, record(runs.Run, "c"), record(runs.Run, "c")), runs.ErrExists)
		for _, id := range []string{"a", "c"} {
			_, err := f.store.Get(f.ctx, runs.Run, id)
			f.want(err, runs.ErrNotFound)
		}
		f.insert()
	}},
	{"records/kinds are apart", "Records of different kinds may have the same id.", func(f *fixture) {
		f.insert(record(runs.Run, "x"), record(runs.Thread, "x"), record(runs.Assistant, "x"))
		f.must(f.store.Delete(f.ctx, runs.Assistant, "x"))
		_, err := f.store.Get(f.ctx, runs.Thread, "x")
		f.must(err)
	}},
	{"records/not found", "Get, Update and Delete return ErrNotFound for a record that does not exist.", func(f *fixture) {
		_, err := f.store.Get(f.ctx, runs.Run, "x")
		f.want(err, runs.ErrNotFound)
		_, err = f.store.Update(f.ctx, record(runs.Run, "x"))
		f.want(err, runs.ErrNotFound)
		f.want(f.store.Delete(f.ctx, runs.Run, "x"), runs.ErrNotFound)
	}},
	{"records/update", "Update replaces all fields and returns the next revision.", func(f *fixture) {
		f.insert(record(runs.Run, "x"))
		r := runs.Record{
			Kind: runs.Run, ID: "x", Parent: "p2", Owner: "o2", Graph: "g2", Name: "n2", Status: "s2", Created: start.Add(time.Minute),
			Updated: start.Add(time.Hour), Metadata: json.RawMessage(`{"new":true}`), Data: json.RawMessage(`2`), Revision: 1,
		}
		revision, err := f.store.Update(f.ctx, r)
		f.must(err)
		equal(f, "revision", revision, int64(2))
		got, err := f.store.Get(f.ctx, runs.Run, "x")
		f.must(err)
		f.wantRecord(got, r, 2)
		equal(f, "runs of the old thread", f.ids(runs.Query{Kind: runs.Run, Parent: "parent"}, 0), []string{})
		equal(f, "runs of the new thread", f.ids(runs.Query{Kind: runs.Run, Parent: "p2"}, 1), []string{"x"})
	}},
	{"records/conflict", "Update returns ErrConflict for another revision and changes nothing.", func(f *fixture) {
		r := record(runs.Run, "x")
		f.insert(r)
		for _, revision := range []int64{0, 2} {
			other := r
			other.Revision, other.Status = revision, "other"
			_, err := f.store.Update(f.ctx, other)
			f.want(err, runs.ErrConflict)
		}
		got, err := f.store.Get(f.ctx, runs.Run, "x")
		f.must(err)
		f.wantRecord(got, r, 1)
	}},
	{"records/limits of texts", "Texts may have MaxText bytes; ErrInvalid is returned for what Check refuses.", func(f *fixture) {
		long := strings.Repeat("ü", runs.MaxText/2)
		r := runs.Record{Kind: runs.Assistant, ID: long, Parent: long, Owner: long, Graph: long, Name: long, Status: long, Created: start, Updated: start}
		f.insert(r)
		for _, bad := range []runs.Record{
			{Kind: runs.Run, ID: ""},
			{Kind: runs.Run, ID: "a\x00"},
			{Kind: runs.Run, ID: "b", Name: long + "x"},
			{Kind: runs.Run, ID: "c", Owner: "\xff"},
			{Kind: runs.Run, ID: "d", Metadata: json.RawMessage(`[]`)},
			{Kind: runs.Run, ID: "e", Metadata: json.RawMessage(`{`)},
		} {
			f.want(f.store.Insert(f.ctx, run("good", "t"), bad), runs.ErrInvalid)
		}
		_, err := f.store.Get(f.ctx, runs.Run, "good")
		f.want(err, runs.ErrNotFound)
		r.Revision, r.Name = 1, "a\x00"
		_, err = f.store.Update(f.ctx, r)
		f.want(err, runs.ErrInvalid)
	}},
	{"records/context", "A call whose context has ended returns its error and changes nothing.", func(f *fixture) {
		f.insert(record(runs.Run, "x"))
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		r := record(runs.Run, "x")
		r.Revision = 1
		_, get := f.store.Get(ctx, runs.Run, "x")
		_, update := f.store.Update(ctx, r)
		_, _, search := f.store.Search(ctx, runs.Query{Kind: runs.Run})
		_, read := f.store.Events(ctx, "t", 0, 0)
		_, _, last := f.store.Last(ctx, "t")
		_, trim := f.store.Trim(ctx, "", runs.Bounds{Events: 1})
		_, tasks := f.store.Tasks(ctx, "t", "c")
		for what, err := range map[string]error{
			"get": get, "update": update, "search": search, "events": read, "last": last, "trim": trim, "tasks": tasks,
			"insert": f.store.Insert(ctx, record(runs.Run, "y")), "delete": f.store.Delete(ctx, runs.Run, "x"),
			"append":    f.store.Append(ctx, "t", events("r", 0, 1)),
			"put tasks": f.store.PutTasks(ctx, "t", []runs.Task{{ID: "a"}}), "copy": f.store.CopyTasks(ctx, "t", "u"),
		} {
			if err == nil || ctx.Err() == nil {
				f.Errorf("%s with a context that has ended: no error", what)
				continue
			}
			f.want(err, context.Canceled)
		}
		equal(f, "runs", f.ids(runs.Query{Kind: runs.Run}, 1), []string{"x"})
		f.wantLast("t", 0, 0)
	}},
}

var deleteCases = []testCase{
	{"delete/thread", "A thread is deleted with its runs, tasks and events, and without those of others.", func(f *fixture) {
		for _, thread := range []string{"t", "u"} {
			f.insert(runs.Record{Kind: runs.Thread, ID: thread}, run("run of "+thread, thread), runs.Record{Kind: runs.Cron, ID: "cron of " + thread, Parent: thread})
			f.append(thread, "run of "+thread, 3)
			f.must(f.store.PutTasks(f.ctx, thread, []runs.Task{{ID: "task", Checkpoint: "c"}}))
		}
		f.must(f.store.Delete(f.ctx, runs.Thread, "t"))
		equal(f, "runs", f.ids(runs.Query{Kind: runs.Run}, 1), []string{"run of u"})
		equal(f, "crons", f.ids(runs.Query{Kind: runs.Cron, Order: runs.ByID}, 2), []string{"cron of t", "cron of u"})
		for thread, n := range map[string]int{"t": 0, "u": 3} {
			equal(f, "events of "+thread, len(f.numbers(thread, 0, 0)), n)
			tasks, err := f.store.Tasks(f.ctx, thread, "c")
			f.must(err)
			equal(f, "tasks of "+thread, len(tasks), min(n, 1))
		}
		f.wantLast("t", 0, 0)
	}},
	{"delete/run", "A run is deleted with its events. Their numbers are not used again, and not trimmed.", func(f *fixture) {
		f.insert(run("a", "t"), run("b", "t"), run("c", "u"))
		f.append("t", "a", 2)
		f.append("t", "b", 2)
		f.append("t", "a", 1)
		f.append("u", "a", 1) // another thread
		f.must(f.store.Delete(f.ctx, runs.Run, "a"))
		equal(f, "events", f.numbers("t", 0, 0), []int64{3, 4})
		equal(f, "events of the other thread", f.numbers("u", 0, 0), []int64{1})
		f.wantLast("t", 5, 0)
		f.append("t", "b", 1)
		equal(f, "events", f.numbers("t", 0, 0), []int64{3, 4, 6})
	}},
	{"delete/assistant", "An assistant is deleted with its versions.", func(f *fixture) {
		f.insert(runs.Record{Kind: runs.Assistant, ID: "a"}, runs.Record{Kind: runs.Version, ID: "a1", Parent: "a"}, runs.Record{Kind: runs.Version, ID: "b1", Parent: "b"})
		f.insert(run("r", "a"))
		f.must(f.store.Delete(f.ctx, runs.Assistant, "a"))
		equal(f, "versions", f.ids(runs.Query{Kind: runs.Version}, 1), []string{"b1"})
		equal(f, "runs", f.ids(runs.Query{Kind: runs.Run}, 1), []string{"r"})
	}},
}
