package checkpointtest

import (
	"errors"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// similarNames are distinct names that a faulty store may confuse.
var similarNames = []string{
	"a", "A", "a ", " a", "á", "a\u0301", "ａ", "a%", "a_", "a*", "a'", `a"`, `a\`, "a/b", "a:b", "a|b", "a,b", "a;--",
	"0", "00", "1", "01", "1.0", "1e0", "null", "NULL", "true", "日本語", "🙂", "\u202eabc", "\ufeff",
	"0190b5e4-7c1a-7e2f-8a3b-000000000001", "0190B5E4-7C1A-7E2F-8A3B-000000000001",
	"0190b5e47c1a7e2f8a3b000000000001", "0190b5e4-7c1a-7e2f-8a3b-00000000000g", "{0190b5e4-7c1a-7e2f-8a3b-000000000001}",
	"0190b5e4-7c1a-7e2f-8a3b-00000000000", "0190b5e4-7c1a-7e2f-8a3b_000000000001",
}

// unusualNames are names that a store keeps exactly, or rejects with ErrInvalid.
var unusualNames = []string{"\x00", "a\x00", "a\x00b", "\xff", "a\xffb", "\xed\xa0\x80", strings.Repeat("l", 5000)}

var nameCases = []testCase{
	{name: "names/threads", promise: "ids of threads are compared exactly", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for _, name := range distinctNames() {
			made = append(made, f.put(name, withID("1"), withChanges("a="+name)))
		}
		f.wantAllSame(made)
	}},
	{name: "names/namespaces", promise: "namespaces are compared exactly", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for _, name := range distinctNames() {
			made = append(made, f.put("t", inNamespace(name), withChanges("a="+name)))
		}
		f.wantAllSame(made)
		for _, c := range made {
			f.wantSame(f.get(checkpoint.Key{Thread: "t", Namespace: c.Namespace}), c)
			f.wantList(checkpoint.Query{Thread: "t", Namespace: c.Namespace}, c)
		}
	}},
	{name: "names/ids", promise: "ids of checkpoints are compared exactly", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for _, name := range distinctNames() {
			made = append(made, f.put("t", withID(name), withChanges("a="+name)))
		}
		f.wantAllSame(made)
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
		f.wantLineage(made[len(made)-1], made...)
	}},
	{name: "names/channels", promise: "names of channels are kept exactly in changes, snapshots and pending writes", run: func(f *fixture) {
		c := f.next("t", withChanges(), withSnapshot())
		var writes []checkpoint.Write
		for i, name := range append(distinctNames(), "") {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: name, Data: []byte(name)})
			c.Snapshot = append(c.Snapshot, checkpoint.Change{Channel: name, Data: []byte(name)})
			writes = append(writes, checkpoint.Write{Task: "task", Index: i, Channel: name, Data: []byte(name)})
		}
		f.wantNoErr("put", f.tryPut(c))
		f.write(c.Key, writes...)
		f.wantSame(f.get(c.Key), c)
		f.wantWrites("writes", f.get(c.Key).Writes, writes...)
	}},
	{name: "names/tasks", promise: "ids of tasks are compared exactly", run: func(f *fixture) {
		c := f.put("t")
		for _, name := range distinctNames() {
			f.write(c.Key, write(name, 0, name))
		}
		got := f.get(c.Key).Writes
		if len(got) != len(distinctNames()) {
			f.Errorf("got %d writes want %d", len(got), len(distinctNames()))
		}
		for _, w := range got {
			if w.Task != string(w.Data) {
				f.Errorf("task: got %q want %q", w.Task, w.Data)
			}
		}
	}},
	{name: "names/runs", promise: "runs, versions and metadata are kept exactly, and filters compare them exactly", run: func(f *fixture) {
		made := map[string]checkpoint.Checkpoint{}
		for _, name := range distinctNames() {
			c := f.next("t", withRun(name), withMetadata(map[string]string{name: name, "": name}))
			c.Version = name
			f.wantNoErr("put", f.tryPut(c))
			f.wantSame(f.get(c.Key), c)
			made[name] = c
		}
		for name, c := range made {
			f.wantList(checkpoint.Query{Thread: "t", Run: name}, c)
			f.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{name: name}}, c)
			f.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"": name}}, c)
		}
	}},
	{name: "names/awkward", promise: "a store keeps names with NUL bytes, invalid UTF-8 and very long names exactly, or returns ErrInvalid, and never confuses two names", run: checkUnusualNames},
	{name: "names/empty", promise: "a store returns ErrInvalid for an empty thread, and for an empty id where it needs one", run: func(f *fixture) {
		c := f.put("t")
		writes := []checkpoint.Write{write("task", 0, "v")}
		f.wantErr("put without a thread", f.store.Put(f.ctx, f.next("", withID("1")), ""), checkpoint.ErrInvalid)
		f.wantErr("put without an id", f.store.Put(f.ctx, f.next("t", withID("")), c.ID), checkpoint.ErrInvalid)
		f.wantErr("writes without a thread", f.store.PutWrites(f.ctx, checkpoint.Key{ID: c.ID}, writes), checkpoint.ErrInvalid)
		f.wantErr("writes without an id", f.store.PutWrites(f.ctx, checkpoint.Key{Thread: "t"}, writes), checkpoint.ErrInvalid)
		_, err := f.store.Get(f.ctx, checkpoint.Key{ID: c.ID})
		f.wantErr("get without a thread", err, checkpoint.ErrInvalid)
		f.wantErr("delete without a thread", f.store.DeleteThread(f.ctx, ""), checkpoint.ErrInvalid)
		f.wantErr("list without a thread", f.listError(checkpoint.Query{}), checkpoint.ErrInvalid)
		f.wantErr("list with a negative limit", f.listError(checkpoint.Query{Thread: "t", Limit: -1}), checkpoint.ErrInvalid)
		f.wantSame(f.latest("t"), c)
		f.wantWrites("writes", f.latest("t").Writes)
	}},
}

// distinctNames returns similarNames and two long names with a common prefix.
func distinctNames() []string {
	long := strings.Repeat("é", 500)
	return append(similarNames[:len(similarNames):len(similarNames)], long, long[:998])
}

func (f *fixture) wantAllSame(made []checkpoint.Checkpoint) {
	f.Helper()
	for _, c := range made {
		f.wantSame(f.get(c.Key), c)
	}
}

func checkUnusualNames(f *fixture) {
	plain := f.put("a", withID("a"), withChanges("a=a"))
	uses := []struct {
		what string
		make func(name string) checkpoint.Checkpoint
	}{
		{"thread", func(name string) checkpoint.Checkpoint { return f.next(name, withID("a")) }},
		{"namespace", func(name string) checkpoint.Checkpoint { return f.next("a", inNamespace(name)) }},
		{"id", func(name string) checkpoint.Checkpoint { return f.next("ids", withID(name)) }},
		{"run", func(name string) checkpoint.Checkpoint { return f.next("runs", withRun(name)) }},
		{"channel", func(name string) checkpoint.Checkpoint { return f.next("channels", withChanges(name+"=v")) }},
		{"metadata", func(name string) checkpoint.Checkpoint {
			return f.next("metadata", withMetadata(map[string]string{name: "key", "value": name}))
		}},
	}
	for _, use := range uses {
		var kept []checkpoint.Checkpoint
		for _, name := range unusualNames {
			c := use.make(name)
			switch err := f.tryPut(c); {
			case err == nil:
				kept = append(kept, c)
			case errors.Is(err, checkpoint.ErrInvalid):
				if _, err := f.store.Get(f.ctx, c.Key); err == nil {
					f.Errorf("%s %.10q: Put returned an error, but Get finds the checkpoint", use.what, name)
				}
			default:
				f.Errorf("%s %.10q: got error %v want none or ErrInvalid", use.what, name, err)
			}
		}
		f.wantAllSame(kept)
	}
	f.wantSame(f.latest("a"), plain)
	f.wantState(plain, "a=a")
}
