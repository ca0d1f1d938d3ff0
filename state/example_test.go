package state_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
)

// after applies writes, each as a superstep of its own. In a program package
// graph does this.
func after(s *state.Schema, v state.View, writes ...state.Write) state.View {
	for _, w := range writes {
		tx := s.Begin(v)
		if err := tx.Apply(0, w); err != nil {
			panic(err)
		}
		next, err := tx.Finish(true)
		if err != nil {
			panic(err)
		}
		v = next
	}
	return v
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ExampleLast() {
	status := state.Last[string]("status")
	schema := must(state.NewSchema(status))

	v := after(schema, schema.Empty(), status.Put("working"), status.Put("done"))
	fmt.Println(status.Get(v))

	// Two tasks of one superstep may not both write it.
	tx := schema.Begin(v)
	fmt.Println(tx.Apply(0, status.Put("mine")))
	fmt.Println(tx.Apply(1, status.Put("no, mine")))
	// Output:
	// done
	// <nil>
	// state: channel "status": more than one task wrote to it in one superstep
}

func ExampleAny() {
	seen := state.Any[string]("seen")
	schema := must(state.NewSchema(seen))

	tx := schema.Begin(schema.Empty())
	for task, name := range []string{"first", "second"} {
		if err := tx.Apply(task, seen.Put(name)); err != nil {
			panic(err)
		}
	}
	v, err := tx.Finish(true)
	fmt.Println(seen.Get(v), err)
	// Output: second <nil>
}

func ExampleKeep() {
	limit := state.Keep[int]("limit")
	schema := must(state.NewSchema(limit))
	zero := 0

	v := after(schema, schema.Empty(), limit.Put(new(30)), limit.Put(nil))
	fmt.Println(limit.Get(v))
	v = after(schema, v, limit.Put(&zero))
	fmt.Println(limit.Get(v))
	// Output:
	// 30
	// 0
}

func ExampleSum() {
	tokens := state.Sum[int]("tokens")
	schema := must(state.NewSchema(tokens))

	v := after(schema, schema.Empty(), tokens.Put(120), tokens.Put(30, 50))
	fmt.Println(tokens.Get(v))
	// Output: 200
}

func ExampleMax() {
	score := state.Max[float64]("score")
	schema := must(state.NewSchema(score))

	v := after(schema, schema.Empty(), score.Put(0.4), score.Put(0.9), score.Put(0.7))
	fmt.Println(score.Get(v))
	// Output: 0.9
}

func ExampleEphemeral() {
	hint := state.Ephemeral[string]("hint")
	turns := state.Sum[int]("turns")
	schema := must(state.NewSchema(hint, turns))

	v := after(schema, schema.Empty(), hint.Put("be brief"))
	fmt.Printf("%q\n", hint.Get(v))
	v = after(schema, v, turns.Put(1))
	fmt.Printf("%q\n", hint.Get(v))
	// Output:
	// "be brief"
	// ""
}

func ExampleUntracked() {
	type connection struct{ address string }
	conn := state.Untracked[*connection]("connection")
	turns := state.Sum[int]("turns")
	schema := must(state.NewSchema(conn, turns))

	v := after(schema, schema.Empty(), conn.Put(&connection{"db:5432"}), turns.Put(1))
	fmt.Println(conn.Get(v).address)
	err := schema.Snapshot(v, func(channel string, k state.Kind, data []byte) {
		fmt.Println("stored:", channel, k, string(data))
	})
	fmt.Println(err)
	// Output:
	// db:5432
	// stored: turns set 1
	// <nil>
}

func ExampleAppend() {
	log := state.Append[string]("log")
	schema := must(state.NewSchema(log))

	v := after(schema, schema.Empty(), log.Put("started"), log.Put("searched", "answered"))
	fmt.Println(log.Get(v), log.Len(v))
	newest, ok := log.Last(v)
	fmt.Println(newest, ok)
	for i, line := range log.All(v) {
		fmt.Println(i, line)
	}
	// Output:
	// [started searched answered] 3
	// answered true
	// 0 started
	// 1 searched
	// 2 answered
}

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type noteID struct{}

func (noteID) ID(n note) string              { return n.ID }
func (noteID) WithID(n note, id string) note { n.ID = id; return n }

func ExampleKeyed() {
	notes := state.Keyed("notes", noteID{})
	schema := must(state.NewSchema(notes))

	v := after(schema, schema.Empty(),
		notes.Put(note{"a", "buy milk"}, note{"b", "call home"}),
		notes.Put(note{"a", "buy oat milk"}), // of the same id: in its place
		notes.Remove("b"),
		notes.Put(note{Text: "it gets an id"}),
	)
	for _, n := range notes.Get(v) {
		fmt.Println(n.Text, n.ID != "")
	}
	found, ok := notes.Find(v, "a")
	fmt.Println(found, ok)
	// Output:
	// buy oat milk true
	// it gets an id true
	// {a buy oat milk} true
}

func ExampleKeyedChannel_Prune() {
	notes := state.Keyed("notes", noteID{}).Prune(func(all []note) []note {
		return all[max(0, len(all)-2):] // the newest two
	})
	schema := must(state.NewSchema(notes))

	v := after(schema, schema.Empty(), notes.Put(note{"a", "one"}, note{"b", "two"}), notes.Put(note{"c", "three"}))
	fmt.Println(notes.Get(v))
	// Output: [{b two} {c three}]
}

func ExampleSet() {
	topics := state.Set[string]("topics")
	schema := must(state.NewSchema(topics))

	v := after(schema, schema.Empty(), topics.Put("go", "sql"), topics.Put("go", "llm"), topics.Remove("sql"))
	fmt.Println(topics.Get(v), topics.Has(v, "llm"), topics.Has(v, "sql"))
	// Output: [go llm] true false
}

func ExampleMap() {
	prices := state.Map[string, float64]("prices")
	schema := must(state.NewSchema(prices))

	v := after(schema, schema.Empty(),
		prices.Put(map[string]float64{"tea": 2, "coffee": 3}),
		prices.Put(map[string]float64{"tea": 2.5}),
		prices.Remove("coffee"),
	)
	tea, ok := prices.Find(v, "tea")
	fmt.Println(prices.Get(v), tea, ok)
	// Output: map[tea:2.5] 2.5 true
}

func ExampleNewChannel() {
	// The value is a string, an update a word.
	summary := state.NewChannel("summary", func(current, word string) (string, error) {
		if strings.ContainsAny(word, " \n") {
			return "", errors.New("one word, please")
		}
		return strings.TrimSpace(current + " " + word), nil
	})
	schema := must(state.NewSchema(summary))

	v := after(schema, schema.Empty(), summary.Put("typed"), summary.Put("all", "through"))
	fmt.Println(summary.Get(v))
	fmt.Println(schema.Begin(v).Apply(0, summary.Put("two words")))
	// Output:
	// typed all through
	// state: channel "summary": one word, please
}

func ExampleChannel_Default() {
	budget := state.Sum[int]("budget").Default(func() int { return 100 })
	schema := must(state.NewSchema(budget))

	fmt.Println(budget.Get(schema.Empty()))
	value, written := budget.Lookup(schema.Empty())
	fmt.Println(value, written)
	v := after(schema, schema.Empty(), budget.Put(-30))
	fmt.Println(budget.Get(v))
	// Output:
	// 100
	// 100 false
	// 70
}

func ExampleChannel_Overwrite() {
	tokens := state.Sum[int]("tokens")
	log := state.Append[string]("log")
	schema := must(state.NewSchema(tokens, log))

	v := after(schema, schema.Empty(), tokens.Put(900), log.Put("a", "b"))
	v = after(schema, v, tokens.Overwrite(0), log.Overwrite(nil), tokens.Put(5))
	fmt.Println(tokens.Get(v), log.Get(v))
	// Output: 5 []
}

func ExampleNewSchema() {
	type job struct {
		Name string
		done chan bool
	}
	_, err := state.NewSchema(
		state.Last[job]("job"),
		state.Sum[int]("count"),
		state.Append[string]("count"),
	)
	fmt.Println(err)
	_, err = state.NewSchema(state.Untracked[job]("job"))
	fmt.Println(err, job{}.done == nil)
	// Output:
	// state: channel "job": does not survive storage: state_test.job.done is not exported and would be lost; export it, tag it json:"-", or give the type MarshalJSON and UnmarshalJSON
	// state: channel "count": two channels have this name: sum of int and append of []string
	// <nil> true
}

// A reducer is tested without a graph.
func ExampleSchema_Begin() {
	votes := state.Map[string, int]("votes")
	schema := must(state.NewSchema(votes))

	tx := schema.Begin(schema.Empty())
	for task, name := range []string{"ann", "bob"} {
		if err := tx.Apply(task, votes.Put(map[string]int{name: 1})); err != nil {
			panic(err)
		}
	}
	v, err := tx.Finish(true)
	if err != nil {
		panic(err)
	}
	fmt.Println(votes.Get(v))
	err = tx.Changes(func(channel string, k state.Kind, data []byte) {
		fmt.Println(channel, k, string(data))
	})
	fmt.Println(err)
	// Output:
	// map[ann:1 bob:1]
	// votes merge {"ann":1,"bob":1}
	// <nil>
}

// One transaction and one buffer serve many steps, for an engine that stores
// each before the next.
func ExampleTx_AppendChanges() {
	count := state.Sum[int]("count")
	schema := must(state.NewSchema(count))

	tx := schema.Begin(schema.Empty())
	var buf []byte
	for _, add := range []int{1, 20} {
		if err := tx.Apply(0, count.Put(add)); err != nil {
			panic(err)
		}
		v := must(tx.Finish(true))
		buf = must(tx.AppendChanges(buf[:0], func(channel string, k state.Kind, data []byte) {
			fmt.Println(channel, k, string(data))
		}))
		tx.Reset(v)
	}
	tx.Clear()
	// Output:
	// count set 1
	// count set 21
}

// What is sent to a task is a state of its own.
func ExampleTx_Only() {
	topic, found := state.Last[string]("topic"), state.Append[string]("found")
	schema := must(state.NewSchema(topic, found))

	tx := schema.Begin(schema.Empty())
	for _, name := range []string{"wind", "waves"} {
		v := must(tx.Only([]state.Write{topic.Put(name)}))
		fmt.Println(topic.Get(v), found.Len(v))
	}
	// Output:
	// wind 0
	// waves 0
}

// Two states that begin from one never see each other's elements.
func ExampleView() {
	log := state.Append[string]("log")
	schema := must(state.NewSchema(log))

	before := after(schema, schema.Empty(), log.Put("asked"))
	yes := after(schema, before, log.Put("approved"))
	no := after(schema, before, log.Put("refused"))
	fmt.Println(log.Get(before), log.Get(yes), log.Get(no))

	mine := log.Get(before)
	mine[0] = "changed"
	fmt.Println(slices.Equal(log.Get(before), mine))
	// Output:
	// [asked] [asked approved] [asked refused]
	// false
}
