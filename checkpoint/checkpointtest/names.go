package checkpointtest

import (
	"errors"
	"strings"

	"github.com/weft-go/weft/checkpoint"
)

// alike are names that a careless store takes for each other.
var alike = []string{
	"a", "A", "a ", " a", "á", "a\u0301", "ａ", "a%", "a_", "a*", "a'", `a"`, `a\`, "a/b", "a:b", "a|b", "a,b", "a;--",
	"0", "00", "1", "01", "1.0", "1e0", "null", "NULL", "true", "日本語", "🙂", "\u202eabc", "\ufeff",
	"0190b5e4-7c1a-7e2f-8a3b-000000000001", "0190B5E4-7C1A-7E2F-8A3B-000000000001",
	"0190b5e47c1a7e2f8a3b000000000001", "0190b5e4-7c1a-7e2f-8a3b-00000000000g", "{0190b5e4-7c1a-7e2f-8a3b-000000000001}",
	"0190b5e4-7c1a-7e2f-8a3b-00000000000", "0190b5e4-7c1a-7e2f-8a3b_000000000001",
}

// awkward are names that a store keeps exactly, or refuses with ErrInvalid.
var awkward = []string{"\x00", "a\x00", "a\x00b", "\xff", "a\xffb", "\xed\xa0\x80", strings.Repeat("l", 5000)}

var nameCases = []testCase{
	{name: "names/threads", promise: "thread ids are kept apart exactly as they are", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for _, name := range alikeAndLong() {
			made = append(made, k.put(name, named("1"), with("a="+name)))
		}
		k.wantEach(made)
	}},
	{name: "names/namespaces", promise: "so are namespaces", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for _, name := range alikeAndLong() {
			made = append(made, k.put("t", in(name), with("a="+name)))
		}
		k.wantEach(made)
		for _, c := range made {
			k.wantSame(k.get(checkpoint.Key{Thread: "t", Namespace: c.Namespace}), c)
			k.wantList(checkpoint.Query{Thread: "t", Namespace: c.Namespace}, c)
		}
	}},
	{name: "names/ids", promise: "so are the ids of checkpoints", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for _, name := range alikeAndLong() {
			made = append(made, k.put("t", named(name), with("a="+name)))
		}
		k.wantEach(made)
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
		k.wantLineage(made[len(made)-1], made...)
	}},
	{name: "names/channels", promise: "so are channels, in changes, snapshots and writes", run: func(k *kit) {
		c := k.next("t", with(), whole())
		var writes []checkpoint.Write
		for i, name := range append(alikeAndLong(), "") {
			c.Changes = append(c.Changes, checkpoint.Change{Channel: name, Data: []byte(name)})
			c.Snapshot = append(c.Snapshot, checkpoint.Change{Channel: name, Data: []byte(name)})
			writes = append(writes, checkpoint.Write{Task: "task", Index: i, Channel: name, Data: []byte(name)})
		}
		k.wantNoErr("put", k.tryPut(c))
		k.write(c.Key, writes...)
		k.wantSame(k.get(c.Key), c)
		k.wantWrites("writes", k.get(c.Key).Writes, writes...)
	}},
	{name: "names/tasks", promise: "so are tasks", run: func(k *kit) {
		c := k.put("t")
		for _, name := range alikeAndLong() {
			k.write(c.Key, write(name, 0, name))
		}
		got := k.get(c.Key).Writes
		if len(got) != len(alikeAndLong()) {
			k.Errorf("got %d writes want %d", len(got), len(alikeAndLong()))
		}
		for _, w := range got {
			if w.Task != string(w.Data) {
				k.Errorf("task: got %q want %q", w.Task, w.Data)
			}
		}
	}},
	{name: "names/runs", promise: "so are runs, versions and metadata, also as filters", run: func(k *kit) {
		made := map[string]checkpoint.Checkpoint{}
		for _, name := range alikeAndLong() {
			c := k.next("t", by(name), about(map[string]string{name: name, "": name}))
			c.Version = name
			k.wantNoErr("put", k.tryPut(c))
			k.wantSame(k.get(c.Key), c)
			made[name] = c
		}
		for name, c := range made {
			k.wantList(checkpoint.Query{Thread: "t", Run: name}, c)
			k.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{name: name}}, c)
			k.wantList(checkpoint.Query{Thread: "t", Metadata: map[string]string{"": name}}, c)
		}
	}},
	{name: "names/awkward", promise: "NUL, what is no UTF-8 and very long names are kept exactly or refused with ErrInvalid, never taken for another", run: awkwardNames},
	{name: "names/empty", promise: "an empty thread, or an empty id where one is needed, is an ErrInvalid", run: func(k *kit) {
		c := k.put("t")
		writes := []checkpoint.Write{write("task", 0, "v")}
		k.wantErr("put without a thread", k.store.Put(k.ctx, k.next("", named("1")), ""), checkpoint.ErrInvalid)
		k.wantErr("put without an id", k.store.Put(k.ctx, k.next("t", named("")), c.ID), checkpoint.ErrInvalid)
		k.wantErr("writes without a thread", k.store.PutWrites(k.ctx, checkpoint.Key{ID: c.ID}, writes), checkpoint.ErrInvalid)
		k.wantErr("writes without an id", k.store.PutWrites(k.ctx, checkpoint.Key{Thread: "t"}, writes), checkpoint.ErrInvalid)
		_, err := k.store.Get(k.ctx, checkpoint.Key{ID: c.ID})
		k.wantErr("get without a thread", err, checkpoint.ErrInvalid)
		k.wantErr("delete without a thread", k.store.DeleteThread(k.ctx, ""), checkpoint.ErrInvalid)
		k.wantErr("list without a thread", k.listError(checkpoint.Query{}), checkpoint.ErrInvalid)
		k.wantErr("list with a negative limit", k.listError(checkpoint.Query{Thread: "t", Limit: -1}), checkpoint.ErrInvalid)
		k.wantSame(k.latest("t"), c)
		k.wantWrites("writes", k.latest("t").Writes)
	}},
}

func alikeAndLong() []string {
	long := strings.Repeat("é", 500)
	return append(alike[:len(alike):len(alike)], long, long[:998])
}

func (k *kit) wantEach(made []checkpoint.Checkpoint) {
	k.Helper()
	for _, c := range made {
		k.wantSame(k.get(c.Key), c)
	}
}

func awkwardNames(k *kit) {
	plain := k.put("a", named("a"), with("a=a"))
	uses := []struct {
		what string
		make func(name string) checkpoint.Checkpoint
	}{
		{"thread", func(name string) checkpoint.Checkpoint { return k.next(name, named("a")) }},
		{"namespace", func(name string) checkpoint.Checkpoint { return k.next("a", in(name)) }},
		{"id", func(name string) checkpoint.Checkpoint { return k.next("ids", named(name)) }},
		{"run", func(name string) checkpoint.Checkpoint { return k.next("runs", by(name)) }},
		{"channel", func(name string) checkpoint.Checkpoint { return k.next("channels", with(name+"=v")) }},
		{"metadata", func(name string) checkpoint.Checkpoint {
			return k.next("metadata", about(map[string]string{name: "key", "value": name}))
		}},
	}
	for _, use := range uses {
		var kept []checkpoint.Checkpoint
		for _, name := range awkward {
			c := use.make(name)
			switch err := k.tryPut(c); {
			case err == nil:
				kept = append(kept, c)
			case errors.Is(err, checkpoint.ErrInvalid):
				if _, err := k.store.Get(k.ctx, c.Key); err == nil {
					k.Errorf("%s %.10q was refused, but is there", use.what, name)
				}
			default:
				k.Errorf("%s %.10q: got error %v want none or ErrInvalid", use.what, name, err)
			}
		}
		k.wantEach(kept)
	}
	k.wantSame(k.latest("a"), plain)
	k.wantState(plain, "a=a")
}
