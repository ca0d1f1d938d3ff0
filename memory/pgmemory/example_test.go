package pgmemory_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
)

// An exampleTB has the methods of testing.TB that package pgtest needs.
type exampleTB struct {
	testing.TB
	drops []func()
}

func (*exampleTB) Helper() {}

func (*exampleTB) Fatalf(text string, a ...any) { log.Panicf(text, a...) }

func (*exampleTB) Errorf(text string, a ...any) { log.Panicf(text, a...) }

func (e *exampleTB) Cleanup(drop func()) { e.drops = append(e.drops, drop) }

// exampleDatabase returns the address of a database for the examples.
func exampleDatabase() (address string, o pgmemory.Options, drop func()) {
	tb := &exampleTB{}
	p := newPlace(tb)
	return p.url, p.options, func() {
		for _, drop := range tb.drops {
			drop()
		}
	}
}

func Example() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Panic(err)
	}

	ann := driver.Scope{Tenant: "acme", User: "ann"}
	old, err := m.Store(ctx, ann, driver.Fact{Kind: driver.Preference, Content: "Ann takes her tea with milk", Trust: driver.Stated}, driver.Fact{Content: "Ann lives in Leeds", Trust: driver.Stated})
	if err != nil {
		log.Panic(err)
	}
	if _, err := m.Supersede(ctx, ann, driver.Fact{Kind: driver.Preference, Content: "Ann takes her tea without milk", Trust: driver.Stated}, old[0].ID); err != nil {
		log.Panic(err)
	}
	found, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "How does she like her tea?"})
	if err != nil {
		log.Panic(err)
	}
	for _, f := range found {
		fmt.Println(f.Item.Content)
	}
	n, err := m.Forget(ctx, ann)
	fmt.Println("facts forgotten:", n.Facts, err)
	// Output:
	// Ann takes her tea without milk
	// facts forgotten: 3 <nil>
}

// A second ingest of unchanged documents writes nothing.
func ExampleDB_Documents() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Panic(err)
	}
	base, err := knowledge.New(m, knowledge.Options{})
	if err != nil {
		log.Panic(err)
	}
	docs := driver.Scope{Tenant: "acme"}
	files := fstest.MapFS{"leave.md": {Data: []byte("# Leave\n\nEverybody has 25 days.\n")}, "notice.md": {Data: []byte("# Notice\n\nThe notice period is 3 months.\n")}}
	for range 2 {
		total, _, err := knowledge.Collect(base.Ingest(ctx, docs, knowledge.Folder(files, knowledge.FolderOptions{}), knowledge.IngestOptions{}))
		fmt.Println(total.Added, "added,", total.Unchanged, "unchanged", err)
	}
	results, err := base.Search(ctx, memory.Question{Reach: docs.Only(), Text: "how long is the notice period?"})
	if err != nil {
		log.Panic(err)
	}
	for _, r := range results {
		fmt.Printf("%s: %q\n", r.Item.Source.URI, r.Item.Chunk.Content)
	}
	// Output:
	// 2 added, 0 unchanged <nil>
	// 0 added, 2 unchanged <nil>
	// notice.md: "# Notice\n\nThe notice period is 3 months."
}

// A turn is enqueued in the transaction of the caller's other writes. Either all are stored or
// none.
func ExampleDB_Turns() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		inside, err := pgmemory.New(ctx, tx, options)
		if err != nil {
			return err
		}
		// Other writes of the turn to tx belong here.
		return inside.Turns().Enqueue(ctx, driver.Turn{Key: "thread-7/1", Scope: driver.Scope{User: "ann"}, Payload: []byte(`{"user":"I moved to Oslo."}`), Said: time.Now()})
	})
	if err != nil {
		log.Panic(err)
	}
	jobs, err := db.Turns().Claim(ctx, 10, time.Minute) // a worker in any process claims it
	for _, j := range jobs {
		fmt.Println(j.Key, j.Attempts, err)
	}
	// Output:
	// thread-7/1 1 <nil>
}

// An index makes searches of large scopes faster. An operator creates it once.
func ExampleDB_Index() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	fmt.Println(db.Index(ctx, "text-embedding-3-small", 1536))
	fmt.Println(db.Index(ctx, "text-embedding-3-large", 3072))
	// Output:
	// <nil>
	// <nil>
}

// The scripts are for programs that apply migrations, such as the Supabase CLI.
func ExampleScripts() {
	scripts, err := pgmemory.Scripts("agents")
	if err != nil {
		log.Panic(err)
	}
	for _, s := range scripts[:2] { // there are more
		fmt.Println(s.Name, strings.Contains(s.SQL, `"agents".mem_`))
	}
	// Output:
	// 001_facts true
	// 002_fact_functions true
}
