package sqlitememory_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()

	db, err := sqlitememory.Open(ctx, filepath.Join(folder, "memory.db"), sqlitememory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ann := driver.Scope{Tenant: "acme", User: "ann"}
	facts := []driver.Fact{
		{Kind: driver.Preference, Content: "Ann drinks tea, and no coffee", Trust: driver.Stated},
		{Content: "Ann works in the Berlin office", Trust: driver.Stated},
		{Content: "The office has a roof garden", Trust: driver.Stated},
	}
	if _, err := m.Store(ctx, ann, facts...); err != nil {
		log.Fatal(err)
	}
	found, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "what tea does she drink?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Printf("%s: %s\n", f.Item.Kind, f.Item.Content)
	}
	// Output:
	// preference: Ann drinks tea, and no coffee
}

func ExampleFacts_Forget() {
	ctx := context.Background()
	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, workspace := range []string{"sales", "support"} {
		_, err := m.Store(ctx, driver.Scope{Tenant: "acme", Workspace: workspace, User: "ann"}, driver.Fact{Content: "Ann is on leave", Trust: driver.Stated})
		if err != nil {
			log.Fatal(err)
		}
	}
	n, err := m.Forget(ctx, driver.Scope{Tenant: "acme", User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("facts forgotten:", n.Facts)
	// Output: facts forgotten: 2
}

func ExampleDB_Conversations() {
	ctx := context.Background()
	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	history := m.Conversations()
	ann := driver.Scope{User: "ann"}
	for _, question := range []string{"What is a weft?", "And a warp?"} {
		turn := memory.Turn{Session: "s1", Messages: []llm.Message{llm.User(question), llm.Assistant("It is a thread.")}}
		if _, err := history.Append(ctx, ann, turn); err != nil {
			log.Fatal(err)
		}
	}
	found, err := history.Search(ctx, memory.Question{Reach: ann.Only(), Text: "warps"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found[0].Item.Session, found[0].Item.Position, found[0].Item.Text())
	// Output: s1 3 And a warp?
}

func ExampleDB_Values() {
	ctx := context.Background()
	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	values := m.Values()
	ann := driver.Scope{User: "ann"}
	visits := values.In(ann, "app", "visits")
	for range 3 {
		_, err := memory.UpdateValue(ctx, visits, "home", memory.PutOptions{}, func(n int) (int, error) { return n + 1, nil })
		if err != nil {
			log.Fatal(err)
		}
	}
	n, _, err := memory.GetValue[int](ctx, visits, "home")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("visits:", n)

	if _, err := m.Profile(ann).Patch(ctx, "settings", []byte(`{"theme":"dark"}`), 0); err != nil {
		log.Fatal(err)
	}
	settings, err := m.Profile(ann).Get(ctx, "settings")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("settings: %s\n", settings.Value)
	// Output:
	// visits: 3
	// settings: {"theme":"dark"}
}

func ExampleDB_Documents() {
	ctx := context.Background()
	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	base, err := knowledge.New(m, knowledge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	docs := driver.Scope{Tenant: "acme"}
	handbook := knowledge.Document{URI: "leave.md", Text: "# Leave\n\n## Notice\n\nTell us a month before.\n\n## Days\n\nYou have 25 days a year.\n"}
	for range 2 {
		report, _, err := knowledge.Collect(base.Ingest(ctx, docs, knowledge.Documents(handbook), knowledge.IngestOptions{}))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("added:", report.Added, "unchanged:", report.Unchanged)
	}
	results, err := base.Search(ctx, memory.Question{Reach: docs.Only(), Text: "how many days of leave?", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Item.Source.URI, results[0].Item.Chunk.Headings)
	// Output:
	// added: 1 unchanged: 0
	// added: 0 unchanged: 1
	// leave.md [Leave]
}
