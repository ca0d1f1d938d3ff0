package sqlitememory_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/memory"
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
	m, err := memory.New(db.Facts(), memory.Options{})
	if err != nil {
		log.Fatal(err)
	}

	ann := memory.Scope{Tenant: "acme", User: "ann"}
	facts := []memory.Fact{
		{Kind: memory.Preference, Content: "Ann drinks tea, and no coffee"},
		{Content: "Ann works in the Berlin office"},
		{Content: "The office has a roof garden"},
	}
	if _, err := m.Store(ctx, ann, facts...); err != nil {
		log.Fatal(err)
	}
	found, err := m.Recall(ctx, memory.Recall{Query: memory.Query{Scope: ann}, Text: "what tea does she drink?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Printf("%s: %s\n", f.Kind, f.Content)
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
	m, err := memory.New(db.Facts(), memory.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, workspace := range []string{"sales", "support"} {
		_, err := m.Store(ctx, memory.Scope{Tenant: "acme", Workspace: workspace, User: "ann"}, memory.Fact{Content: "Ann is on leave"})
		if err != nil {
			log.Fatal(err)
		}
	}
	n, err := m.Forget(ctx, memory.Scope{Tenant: "acme", User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("facts forgotten:", n)
	// Output: facts forgotten: 2
}
