package state_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/state"
)

// viewOf is like state.NewView, but panics on an error.
func viewOf(channels []state.Handle, writes ...state.Write) state.View {
	return must(state.NewView(channels, writes...))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ExampleLast() {
	status := state.Last[string]("status")

	v := viewOf([]state.Handle{status}, status.Put("working"), status.Put("done"))
	fmt.Println(status.Get(v))
	// Output: done
}

func ExampleLastWins() {
	seen := state.LastWins[string]("seen")

	v := viewOf([]state.Handle{seen}, seen.Put("first"), seen.Put("second"))
	fmt.Println(seen.Get(v))
	// Output: second
}

func ExampleOptional() {
	limit := state.Optional[int]("limit")

	v := viewOf([]state.Handle{limit}, limit.Put(new(30)), limit.Put(nil))
	fmt.Println(limit.Get(v))
	v = viewOf([]state.Handle{limit}, limit.Put(new(30)), limit.Put(new(0)))
	fmt.Println(limit.Get(v))
	// Output:
	// 30
	// 0
}

func ExampleSum() {
	tokens := state.Sum[int]("tokens")

	v := viewOf([]state.Handle{tokens}, tokens.Put(120), tokens.Put(30, 50))
	fmt.Println(tokens.Get(v))
	// Output: 200
}

func ExampleMax() {
	score := state.Max[float64]("score")

	v := viewOf([]state.Handle{score}, score.Put(0.4), score.Put(0.9), score.Put(0.7))
	fmt.Println(score.Get(v))
	// Output: 0.9
}

func ExampleEphemeral() {
	hint := state.Ephemeral[string]("hint")

	// The nodes of the next superstep can read the hint.
	// Later nodes cannot.
	v := viewOf([]state.Handle{hint}, hint.Put("be brief"))
	fmt.Println(hint.Get(v))
	// Output: be brief
}

func ExampleUntracked() {
	type connection struct{ address string }
	conn := state.Untracked[*connection]("connection")
	turns := state.Sum[int]("turns")

	v := viewOf([]state.Handle{conn, turns}, conn.Put(&connection{"db:5432"}), turns.Put(1))
	fmt.Println(conn.Get(v).address)
	values, err := state.Values(v) // without the untracked channel
	fmt.Println(len(values), string(values["turns"]), err)
	// Output:
	// db:5432
	// 1 1 <nil>
}

func ExampleAppend() {
	log := state.Append[string]("log")

	v := viewOf([]state.Handle{log}, log.Put("started"), log.Put("searched", "answered"))
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

	v := viewOf([]state.Handle{notes},
		notes.Put(note{"a", "draft"}, note{"b", "idea"}),
		notes.Put(note{"a", "final"}), // replaces the note with this id
		notes.Remove("b"),
		notes.Put(note{Text: "new"}), // gets an id
	)
	for _, n := range notes.Get(v) {
		fmt.Println(n.Text, n.ID != "")
	}
	found, ok := notes.Find(v, "a")
	fmt.Println(found, ok)
	// Output:
	// final true
	// new true
	// {a final} true
}

func ExampleKeyedChannel_Prune() {
	notes := state.Keyed("notes", noteID{}).Prune(func(all []note) []note {
		return all[max(0, len(all)-2):] // keep the newest two notes
	})

	v := viewOf([]state.Handle{notes}, notes.Put(note{"a", "one"}, note{"b", "two"}), notes.Put(note{"c", "three"}))
	fmt.Println(notes.Get(v))
	// Output: [{b two} {c three}]
}

func ExampleSet() {
	topics := state.Set[string]("topics")

	v := viewOf([]state.Handle{topics}, topics.Put("go", "sql"), topics.Put("go", "llm"), topics.Remove("sql"))
	fmt.Println(topics.Get(v), topics.Has(v, "llm"), topics.Has(v, "sql"))
	// Output: [go llm] true false
}

func ExampleMap() {
	prices := state.Map[string, float64]("prices")

	v := viewOf([]state.Handle{prices},
		prices.Put(map[string]float64{"tea": 2, "coffee": 3}),
		prices.Put(map[string]float64{"tea": 2.5}),
		prices.Remove("coffee"),
	)
	tea, ok := prices.Find(v, "tea")
	fmt.Println(prices.Get(v), tea, ok)
	// Output: map[tea:2.5] 2.5 true
}

func ExampleNewChannel() {
	// The value is a string, and each update is a word.
	summary := state.NewChannel("summary", func(current, word string) (string, error) {
		if strings.ContainsAny(word, " \n") {
			return "", errors.New("an update must be one word")
		}
		return strings.TrimSpace(current + " " + word), nil
	})

	v := viewOf([]state.Handle{summary}, summary.Put("typed"), summary.Put("all", "through"))
	fmt.Println(summary.Get(v))
	_, err := state.NewView([]state.Handle{summary}, summary.Put("two words"))
	fmt.Println(err)
	// Output:
	// typed all through
	// state: channel "summary": an update must be one word
}

func ExampleChannel_Default() {
	budget := state.Sum[int]("budget").Default(func() int { return 100 })

	value, written := budget.Lookup(viewOf([]state.Handle{budget}))
	fmt.Println(value, written)
	fmt.Println(budget.Get(viewOf([]state.Handle{budget}, budget.Put(-30))))
	// Output:
	// 100 false
	// 70
}

func ExampleChannel_Overwrite() {
	tokens := state.Sum[int]("tokens")
	log := state.Append[string]("log")

	v := viewOf([]state.Handle{tokens, log},
		tokens.Put(900), log.Put("a", "b"), tokens.Overwrite(0), log.Overwrite(nil), tokens.Put(5))
	fmt.Println(tokens.Get(v), log.Get(v))
	// Output: 5 []
}

// Get returns a copy, so a change of the result does not change the state.
func ExampleView() {
	log := state.Append[string]("log")
	v := viewOf([]state.Handle{log}, log.Put("asked"))

	mine := log.Get(v)
	mine[0] = "changed"
	fmt.Println(log.Get(v), mine)
	// Output: [asked] [changed]
}

// A test of a node does not need a graph.
func ExampleNewView() {
	question := state.Last[string]("question")
	answers := state.Append[string]("answers")
	node := func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{answers.Put(strings.ToUpper(question.Get(s)))}, nil
	}

	v, err := state.NewView([]state.Handle{question, answers}, question.Put("why?"))
	if err != nil {
		fmt.Println(err)
		return
	}
	update, err := node(context.Background(), v)
	fmt.Println(update, err)
	// Output: [append answers: ["WHY?"]] <nil>
}

// A middleware of an agent sees the state with the writes of earlier middlewares applied. Apply computes such a state.
func ExampleApply() {
	steps := state.Append[string]("steps")
	before, err := state.NewView([]state.Handle{steps}, steps.Put("look"))
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := state.Apply(before, steps.Put("write"))
	fmt.Println(steps.Get(before), steps.Get(after), err)
	// Output: [look] [look write] <nil>
}

// NewView reports every mistake in the channels, as the compilation of a graph does.
func ExampleNewView_mistakes() {
	type job struct {
		Name string
		done chan bool
	}
	_, err := state.NewView([]state.Handle{
		state.Last[job]("job"),
		state.Sum[int]("count"),
		state.Append[string]("count"),
	})
	fmt.Println(err)
	_, err = state.NewView([]state.Handle{state.Untracked[job]("job")})
	fmt.Println(err, job{}.done == nil)
	// Output:
	// state: channel "job": does not survive storage: state_test.job.done is not exported and would be lost; export it, tag it json:"-", or give the type MarshalJSON and UnmarshalJSON
	// state: channel "count": two channels have this name: sum of int and append of []string
	// <nil> true
}

func ExampleValues() {
	topic := state.Last[string]("topic")
	notes := state.Append[string]("notes")
	tokens := state.Sum[int]("tokens")

	v := viewOf([]state.Handle{topic, notes, tokens}, topic.Put("wind"), notes.Put("a", "b"))
	values, err := state.Values(v)
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := json.Marshal(values)
	fmt.Println(string(data), err)
	// Output: {"notes":["a","b"],"topic":"wind"} <nil>
}

func ExampleUpdate_Values() {
	topic := state.Last[string]("topic")
	notes := state.Append[string]("notes")

	values, err := state.Update{topic.Put("wind"), notes.Put("a", "b")}.Values()
	for _, value := range values {
		fmt.Println(string(value))
	}
	fmt.Println(err)
	// Output:
	// {"channel":"topic","op":"update","value":"wind"}
	// {"channel":"notes","op":"append","value":["a","b"]}
	// <nil>
}

// An older version of the program stored a string. This version stores a person.
func ExampleChannel_Upgrade() {
	type person struct {
		Name string `json:"name"`
	}
	owner := state.Last[person]("owner").Upgrade(func(old json.RawMessage) (json.RawMessage, error) {
		if !bytes.HasPrefix(old, []byte(`"`)) {
			return old, nil // the JSON already describes a person
		}
		return fmt.Appendf(nil, `{"name":%s}`, old), nil
	})

	// The graph calls the Upgrade function when it reads stored values.
	fmt.Println(owner.Name())
	// Output: owner
}
