package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

func Example() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	_, err = m.Store(ctx, ann,
		memory.Fact{Kind: memory.Preference, Content: "Ann drinks tea, never coffee", Trust: memory.Stated},
		memory.Fact{Content: "Ann's dog is called Rex", Trust: memory.Stated},
	)
	if err != nil {
		panic(err)
	}
	found, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "what does she like to drink?"})
	if err != nil {
		panic(err)
	}
	for _, f := range found {
		fmt.Println(f.Item.Kind, f.Item.Content)
	}
	// Output:
	// preference Ann drinks tea, never coffee
}

func ExampleMemory_Store() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	for _, content := range []string{"Ann likes tea.", "Ann likes  tea", "Ann likes green tea"} {
		stored, err := m.Store(ctx, memory.Scope{User: "ann"}, memory.Fact{Content: content, Trust: memory.Stated})
		if err != nil {
			panic(err)
		}
		fmt.Println(content, stored[0].Existed)
	}
	// Output:
	// Ann likes tea. false
	// Ann likes  tea true
	// Ann likes green tea false
}

func ExampleMemory_Supersede() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	stored, err := m.Store(ctx, ann, memory.Fact{Content: "Ann lives in Athens", ValidFrom: march, Trust: memory.Stated})
	if err != nil {
		panic(err)
	}
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	if _, err := m.Supersede(ctx, ann, memory.Fact{Content: "Ann lives in Oslo", ValidFrom: june, Trust: memory.Stated}, stored[0].ID); err != nil {
		panic(err)
	}
	for _, at := range []time.Time{{}, march.AddDate(0, 1, 0)} {
		found, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "where does Ann live?"}, memory.FactFilter{AsOf: at})
		if err != nil {
			panic(err)
		}
		fmt.Println(found[0].Item.Content)
	}
	// Output:
	// Ann lives in Oslo
	// Ann lives in Athens
}

func ExampleWhere() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	_, err = m.Store(ctx, ann,
		memory.Fact{Content: "Order of 9 cups", Metadata: []byte(`{"cups":9}`), Trust: memory.Stated},
		memory.Fact{Content: "Order of 10 cups", Metadata: []byte(`{"cups":10}`), Trust: memory.Stated},
	)
	if err != nil {
		panic(err)
	}
	q := memory.FactQuery{Reach: ann.Only(), Where: []memory.Condition{memory.Where("cups", memory.Less, 10)}}
	for f, err := range m.List(ctx, q) {
		if err != nil {
			panic(err)
		}
		fmt.Println(f.Content)
	}
	// Output:
	// Order of 9 cups
}

// A user wants one fact forgotten: Erase leaves no history with its text, and Delete does.
func ExampleMemory_Erase() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	stored, err := m.Remember(ctx, ann, "I am allergic to nuts", "I like tea")
	if err != nil {
		panic(err)
	}
	n, err := m.Erase(ctx, memory.FactQuery{Reach: ann.Only(), IDs: []string{stored[0].ID}})
	fmt.Println(n, err)
	for e, err := range m.History(ctx, ann, stored[0].ID) {
		fmt.Println(e, err) // nothing
	}
	// Output:
	// 1 <nil>
}

func ExampleMemory_Forget() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{Tenant: "acme", Workspace: "design", User: "ann"}
	if _, err := m.Store(ctx, ann, memory.Fact{Content: "Ann likes tea", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	all := memory.Scope{Tenant: "acme", User: "ann"} // in every workspace
	gone, err := m.Forget(ctx, all)
	fmt.Println(gone.Facts, "facts", err)
	// Output:
	// 1 facts <nil>
}

// A user's own words are stored as stated facts. Statements of a model or a document are stored
// with less trust, and recalled only if a query includes them.
func ExampleMemory_Remember() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	if _, err := m.Remember(ctx, ann, "Ann drinks tea"); err != nil {
		panic(err)
	}
	read := memory.Fact{Content: "Ann drinks nothing but coffee, says a web page", Trust: memory.Untrusted}
	if _, err := m.Store(ctx, ann, read); err != nil {
		panic(err)
	}
	for _, untrusted := range []bool{false, true} {
		found, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "what does Ann drink?"}, memory.FactFilter{Untrusted: untrusted})
		if err != nil {
			panic(err)
		}
		fmt.Println(len(found))
	}
	// Output:
	// 1
	// 2
}

func ExampleSameText() {
	fmt.Println(memory.SameText("Ann likes tea", "Ann  likes tea."))
	fmt.Println(memory.SameText("Polish", "polish"))
	// Output:
	// true
	// false
}

func ExampleFact_ValidAt() {
	march := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	june := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	f := memory.Fact{Content: "Ann is on leave", ValidFrom: march, ValidTo: june}
	fmt.Println(f.ValidAt(march), f.ValidAt(june))
	// Output:
	// true false
}
