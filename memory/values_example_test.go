package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

type theme struct {
	Dark bool `json:"dark"`
	Size int  `json:"size"`
}

func Example_values() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	values := m.Values()
	settings := values.In(memory.Scope{User: "ann"}, "app", "settings")
	if _, err := memory.PutValue(ctx, settings, "theme", theme{Dark: true, Size: 12}, memory.PutOptions{}); err != nil {
		panic(err)
	}
	got, _, err := memory.GetValue[theme](ctx, settings, "theme")
	fmt.Printf("%+v %v\n", got, err)
	// Output:
	// {Dark:true Size:12} <nil>
}

// Values by namespace and key: put, get, list by a filter, search by meaning, and the namespaces.
func Example_store() {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{
		// This embedder is for tests and uses no model. Use langchainllm.NewEmbedder with a model.
		Embedder: llmtest.Embedder{Meanings: map[string]string{"tea": "drink", "thirsty": "drink"}},
		Values:   memory.ValueOptions{Index: [][]string{{"text"}}}, // the fields that are indexed for Search
	})
	check(err)
	type note struct {
		Text string `json:"text"`
		Year int    `json:"year"`
	}
	notes := m.Values().In(alice, "notes", "home") // the scope, then the labels of the namespace
	for key, n := range map[string]note{"1": {"Green tea is in the blue tin", 2025}, "2": {"The piano was tuned", 2026}} {
		_, err := memory.PutValue(ctx, notes, key, n, memory.PutOptions{})
		check(err)
	}

	first, version, err := memory.GetValue[note](ctx, notes, "1")
	fmt.Println(first.Text, version > 0, err)
	_, err = notes.Get(ctx, "3")
	fmt.Println("missing:", errors.Is(err, memory.ErrNotFound))

	recent := memory.ValueQuery{Where: []memory.Condition{memory.Where("year", memory.GreaterEqual, 2026)}}
	for item, err := range notes.List(ctx, recent) { // all values, if the query is empty
		fmt.Println("listed:", item.Key, err)
	}

	hits, err := m.Values().In(alice, "notes").Search(ctx, memory.Question{Text: "thirsty", MinSimilarity: 0.2})
	check(err)
	for _, hit := range hits {
		fmt.Println("found:", hit.Item.Namespace, hit.Item.Key)
	}

	for labels, err := range m.Values().In(alice).Namespaces(ctx, memory.NamespaceQuery{}) {
		fmt.Println("namespace:", labels, err)
	}
	fmt.Println(notes.Delete(ctx, "1", 0)) // 0 means any version
	// Output:
	// Green tea is in the blue tin true <nil>
	// missing: true
	// listed: 2 <nil>
	// found: [notes home] 1
	// namespace: [notes home] <nil>
	// <nil>
}

func ExampleUpdateValue() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	counters := m.Values().In(memory.Scope{Tenant: "acme"}, "counters")
	for range 3 {
		n, err := memory.UpdateValue(ctx, counters, "visits", memory.PutOptions{}, func(n int) (int, error) { return n + 1, nil })
		fmt.Println(n, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

func ExampleNamespace_List() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	orders := m.Values().In(memory.Scope{Tenant: "acme"}, "orders")
	for key, cups := range map[string]int{"a": 9, "b": 10, "c": 100} {
		if _, err := memory.PutValue(ctx, orders.In("2026"), key, map[string]int{"cups": cups}, memory.PutOptions{}); err != nil {
			panic(err)
		}
	}
	q := memory.ValueQuery{Where: []memory.Condition{memory.Where("cups", memory.Greater, 9)}, Order: memory.ByKey}
	for item, err := range orders.List(ctx, q) {
		if err != nil {
			panic(err)
		}
		fmt.Println(item.Namespace, item.Key, string(item.Value))
	}
	// Output:
	// [orders 2026] b {"cups":10}
	// [orders 2026] c {"cups":100}
}

func ExampleNamespace_Namespaces() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	values := m.Values()
	s := memory.Scope{Tenant: "acme"}
	for _, user := range []string{"ann", "bob"} {
		for _, kind := range []string{"notes", "drafts"} {
			if _, err := memory.PutValue(ctx, values.In(s, "users", user, kind), "k", 1, memory.PutOptions{}); err != nil {
				panic(err)
			}
		}
	}
	for _, q := range []memory.NamespaceQuery{
		{Prefix: []string{"users", memory.Any, "notes"}},
		{MaxDepth: 2},
	} {
		for labels, err := range values.In(s).Namespaces(ctx, q) {
			fmt.Println(labels, err)
		}
	}
	// Output:
	// [users ann notes] <nil>
	// [users bob notes] <nil>
	// [users ann] <nil>
	// [users bob] <nil>
}

func ExampleNamespace_Search() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Values: memory.ValueOptions{Index: [][]string{{"title"}, {"lines", "text"}}}})
	if err != nil {
		panic(err)
	}
	values := m.Values()
	notes := values.In(memory.Scope{User: "ann"}, "notes")
	for key, value := range map[string]string{
		"1": `{"title":"Shopping","lines":[{"text":"green tea"},{"text":"rice"}]}`,
		"2": `{"title":"Travel","lines":[{"text":"book the ferry to Aegina"}]}`,
		"3": `{"title":"Secret","hidden":"ferry"}`,
	} {
		if _, err := notes.Put(ctx, key, []byte(value), memory.PutOptions{}); err != nil {
			panic(err)
		}
	}
	found, err := notes.Search(ctx, memory.Question{Text: "which ferries do I need?"})
	if err != nil {
		panic(err)
	}
	for _, f := range found {
		fmt.Println(f.Item.Key)
	}
	// Output:
	// 2
}

func ExampleValues_Batch() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	values := m.Values()
	s := memory.Scope{User: "ann"}
	tasks := values.In(s, "tasks")
	if _, err := memory.PutValue(ctx, tasks, "old", "write", memory.PutOptions{}); err != nil {
		panic(err)
	}
	done, err := values.Batch(ctx, s, memory.Batch{
		Get: []memory.Address{tasks.At("old"), tasks.At("new")}, // the values before the writes
		Write: []memory.Entry{
			{Address: tasks.At("new"), Value: []byte(`"write"`)},
			{Address: tasks.At("old")}, // a nil value removes the entry
		},
	})
	if err != nil {
		panic(err)
	}
	for _, item := range done.Got {
		fmt.Println(item.Key, item.Known(), string(item.Value))
	}
	// Output:
	// old true "write"
	// new false
}

func ExamplePutOptions() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	locks := m.Values().In(memory.Scope{Tenant: "acme"}, "locks")
	o := memory.PutOptions{Version: memory.Absent, TTL: time.Minute} // only the first writer succeeds, until the value expires
	for _, who := range []string{"ann", "bob"} {
		_, err := memory.PutValue(ctx, locks, "report", who, o)
		fmt.Println(who, err == nil)
	}
	// Output:
	// ann true
	// bob false
}
