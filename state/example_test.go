package state_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// after applies writes, each as a superstep of its own. In a program package
// graph does this.
func after(s *statecore.Schema, v state.View, writes ...state.Write) state.View {
	for _, w := range writes {
		tx := s.Begin(v)
		if err := statecore.Apply(tx, 0, []state.Write{w}); err != nil {
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
	schema := must(statecore.NewSchema[state.Handle](status))

	v := after(schema, schema.Empty(), status.Put("working"), status.Put("done"))
	fmt.Println(status.Get(v))

	// Two tasks of one superstep may not both write it.
	tx := schema.Begin(v)
	fmt.Println(statecore.Apply(tx, 0, []state.Write{status.Put("mine")}))
	fmt.Println(statecore.Apply(tx, 1, []state.Write{status.Put("no, mine")}))
	// Output:
	// done
	// <nil>
	// state: channel "status": more than one task wrote to it in one superstep
}

func ExampleLastWins() {
	seen := state.LastWins[string]("seen")
	schema := must(statecore.NewSchema[state.Handle](seen))

	tx := schema.Begin(schema.Empty())
	for task, name := range []string{"first", "second"} {
		if err := statecore.Apply(tx, task, []state.Write{seen.Put(name)}); err != nil {
			panic(err)
		}
	}
	v, err := tx.Finish(true)
	fmt.Println(seen.Get(v), err)
	// Output: second <nil>
}

func ExampleOptional() {
	limit := state.Optional[int]("limit")
	schema := must(statecore.NewSchema[state.Handle](limit))
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
	schema := must(statecore.NewSchema[state.Handle](tokens))

	v := after(schema, schema.Empty(), tokens.Put(120), tokens.Put(30, 50))
	fmt.Println(tokens.Get(v))
	// Output: 200
}

func ExampleMax() {
	score := state.Max[float64]("score")
	schema := must(statecore.NewSchema[state.Handle](score))

	v := after(schema, schema.Empty(), score.Put(0.4), score.Put(0.9), score.Put(0.7))
	fmt.Println(score.Get(v))
	// Output: 0.9
}

func ExampleEphemeral() {
	hint := state.Ephemeral[string]("hint")
	turns := state.Sum[int]("turns")
	schema := must(statecore.NewSchema[state.Handle](hint, turns))

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
	schema := must(statecore.NewSchema[state.Handle](conn, turns))

	v := after(schema, schema.Empty(), conn.Put(&connection{"db:5432"}), turns.Put(1))
	fmt.Println(conn.Get(v).address)
	err := schema.Snapshot(v, func(channel string, k statecore.Kind, data []byte) {
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
	schema := must(statecore.NewSchema[state.Handle](log))

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
	schema := must(statecore.NewSchema[state.Handle](notes))

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
	schema := must(statecore.NewSchema[state.Handle](notes))

	v := after(schema, schema.Empty(), notes.Put(note{"a", "one"}, note{"b", "two"}), notes.Put(note{"c", "three"}))
	fmt.Println(notes.Get(v))
	// Output: [{b two} {c three}]
}

func ExampleSet() {
	topics := state.Set[string]("topics")
	schema := must(statecore.NewSchema[state.Handle](topics))

	v := after(schema, schema.Empty(), topics.Put("go", "sql"), topics.Put("go", "llm"), topics.Remove("sql"))
	fmt.Println(topics.Get(v), topics.Has(v, "llm"), topics.Has(v, "sql"))
	// Output: [go llm] true false
}

func ExampleMap() {
	prices := state.Map[string, float64]("prices")
	schema := must(statecore.NewSchema[state.Handle](prices))

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
	schema := must(statecore.NewSchema[state.Handle](summary))

	v := after(schema, schema.Empty(), summary.Put("typed"), summary.Put("all", "through"))
	fmt.Println(summary.Get(v))
	fmt.Println(statecore.Apply(schema.Begin(v), 0, []state.Write{summary.Put("two words")}))
	// Output:
	// typed all through
	// state: channel "summary": one word, please
}

func ExampleChannel_Default() {
	budget := state.Sum[int]("budget").Default(func() int { return 100 })
	schema := must(statecore.NewSchema[state.Handle](budget))

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
	schema := must(statecore.NewSchema[state.Handle](tokens, log))

	v := after(schema, schema.Empty(), tokens.Put(900), log.Put("a", "b"))
	v = after(schema, v, tokens.Overwrite(0), log.Overwrite(nil), tokens.Put(5))
	fmt.Println(tokens.Get(v), log.Get(v))
	// Output: 5 []
}

// Two states that begin from one never see each other's elements.
func ExampleView() {
	log := state.Append[string]("log")
	schema := must(statecore.NewSchema[state.Handle](log))

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
