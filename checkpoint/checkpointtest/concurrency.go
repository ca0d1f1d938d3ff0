package checkpointtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

var concurrencyCases = []testCase{
	{name: "concurrency/one_writer_wins", promise: "of writers who saw the same head exactly one wins, and what was acknowledged is what is stored", run: oneWriterWins},
	{name: "concurrency/first_writer_wins", promise: "a thread is begun by exactly one writer", run: func(k *kit) {
		for round := range 20 {
			thread := fmt.Sprint("t", round)
			won := k.race(thread, "", 8)
			k.wantList(checkpoint.Query{Thread: thread}, won...)
		}
	}},
	{name: "concurrency/threads", promise: "writers of different threads do not get into each other's way", run: func(k *kit) {
		k.each(8, func(k *kit, i int) error {
			return k.fillThread(fmt.Sprint("t", i), "")
		})
		for i := range 8 {
			k.wantFilled(fmt.Sprint("t", i), "")
		}
	}},
	{name: "concurrency/namespaces", promise: "namespaces of one thread can be written at the same time", run: func(k *kit) {
		k.each(8, func(k *kit, i int) error {
			return k.fillThread("t", fmt.Sprint("ns", i))
		})
		for i := range 8 {
			k.wantFilled("t", fmt.Sprint("ns", i))
		}
	}},
	{name: "concurrency/writes", promise: "pending writes of tasks that end at the same time are all kept", run: func(k *kit) {
		c := k.put("t")
		const tasks = 16
		var want []checkpoint.Write
		for i := range tasks {
			task := fmt.Sprintf("task%02d", i)
			want = append(want, write(task, 0, "a"), write(task, 1, "b"))
		}
		k.each(tasks, func(k *kit, i int) error {
			return k.store.PutWrites(k.ctx, c.Key, want[2*i:2*i+2])
		})
		k.wantWrites("writes", k.get(c.Key).Writes, want...)
	}},
	{name: "concurrency/readers", promise: "readers see whole checkpoints while others write", run: readers},
}

// each calls the function from n goroutines at once, with kits that share only
// the store, and waits for them.
func (k *kit) each(n int, do func(k *kit, i int) error) {
	k.Helper()
	failed := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		own := *k
		own.newest = map[checkpoint.Key]checkpoint.Checkpoint{}
		own.made = (i + 1) << 20
		wait.Go(func() { failed[i] = do(&own, i) })
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
		k.Fatal(err)
	}
}

// race lets n writers follow the head and returns who was told to have won.
func (k *kit) race(thread, head string, n int) []checkpoint.Checkpoint {
	k.Helper()
	tries := make([]checkpoint.Checkpoint, n)
	won := make([]bool, n)
	for i := range tries {
		k.made++
		tries[i] = checkpoint.Checkpoint{
			Key: checkpoint.Key{Thread: thread, ID: uuid(k.made)}, Parent: head, Source: checkpoint.Loop, Changes: changes(fmt.Sprint("w=", i)),
		}
	}
	k.each(n, func(k *kit, i int) error {
		err := k.store.Put(k.ctx, tries[i], head)
		won[i] = err == nil
		if errors.Is(err, checkpoint.ErrConflict) {
			return nil
		}
		return err
	})
	var winners []checkpoint.Checkpoint
	for i, c := range tries {
		if won[i] {
			winners = append(winners, c)
		}
	}
	if len(winners) != 1 {
		k.Fatalf("after %q: %d of %d writers won, want 1", head, len(winners), n)
	}
	return winners
}

func oneWriterWins(k *kit) {
	const writers, rounds = 16, 40
	var acknowledged []checkpoint.Checkpoint
	head := ""
	for range rounds {
		won := k.race("t", head, writers)
		acknowledged = append(acknowledged, won...)
		head = won[0].ID
	}
	k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(acknowledged)...)
	k.wantLineage(acknowledged[rounds-1], acknowledged...)
}

const filled = 30

func (k *kit) fillThread(thread, namespace string) error {
	for i := range filled {
		if err := k.tryPut(k.next(thread, in(namespace), with(fmt.Sprintf("%s%s=%d", thread, namespace, i)))); err != nil {
			return err
		}
	}
	return nil
}

func (k *kit) wantFilled(thread, namespace string) {
	k.Helper()
	var want []string
	for i := range filled {
		want = append(want, fmt.Sprintf("%s%s=%d", thread, namespace, i))
	}
	key := checkpoint.Key{Thread: thread, Namespace: namespace}
	if got := state(k.get(key).Lineage); !slices.Equal(got, want) {
		k.Errorf("%+v: got %q want %q", key, got, want)
	}
}

// readers checks that at step n a reader sees n changes and the writes of that
// step or none.
func readers(k *kit) {
	const steps = 60
	k.put("t", with("n=0"))
	k.each(4, func(k *kit, i int) error {
		if i == 0 {
			return writeSteps(k, steps)
		}
		for {
			c, err := k.store.Get(k.ctx, checkpoint.Key{Thread: "t"})
			if err != nil {
				return err
			}
			if err := checkStep(c); err != nil {
				return err
			}
			if c.Step == steps {
				return nil
			}
			for listed, err := range k.store.List(k.ctx, checkpoint.Query{Thread: "t", Limit: 3}) {
				if err != nil {
					return err
				}
				if listed.Step < c.Step-2 {
					return fmt.Errorf("listed step %d after step %d was seen", listed.Step, c.Step)
				}
			}
		}
	})
}

func writeSteps(k *kit, n int) error {
	at, err := k.store.Get(k.ctx, checkpoint.Key{Thread: "t"})
	if err != nil {
		return err
	}
	k.newest[space(at.Key)] = at
	for range n {
		c := k.next("t", with("n=1"), settling())
		if err := k.tryPut(c); err != nil {
			return err
		}
		if err := k.store.PutWrites(k.ctx, c.Key, []checkpoint.Write{write("a", 0, "1"), write("b", 0, "2")}); err != nil {
			return err
		}
	}
	return nil
}

func checkStep(c checkpoint.Checkpoint) error {
	if got := len(state(c.Lineage)); got != c.Step+1 {
		return fmt.Errorf("step %d has %d changes", c.Step, got)
	}
	if n := len(c.Writes); n != 0 && n != 2 {
		return fmt.Errorf("step %d has %d of 2 writes", c.Step, n)
	}
	return nil
}
