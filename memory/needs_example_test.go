package memory_test

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/limit"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// The examples show the most common uses of a memory. They store the memory in the process;
// sqlitememory.Open and pgmemory.Open open a memory in a database.

var (
	ctx   = context.Background()
	alice = memory.Scope{Tenant: "acme", User: "alice"}
)

func openMemory(b driver.Backend) *memory.Memory {
	m, err := memory.New(b, memory.Options{})
	check(err)
	return m
}

func inProcess() *memory.Memory { return openMemory(inmemory.New(inmemory.Options{})) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func Example_remember() {
	m := inProcess()
	_, err := m.Remember(ctx, alice, "Alice drinks tea", "Alice lives in Oslo")
	check(err)
	for fact, err := range m.List(ctx, memory.FactQuery{Reach: alice.Only()}) {
		fmt.Println(fact.Content, err)
	}
	// Output:
	// Alice lives in Oslo <nil>
	// Alice drinks tea <nil>
}

func Example_recallIntoAPrompt() {
	m := inProcess()
	_, err := m.Remember(ctx, alice, "Alice drinks tea", "Alice lives in Oslo")
	check(err)
	question := memory.Question{Reach: alice.Inherit(), Text: "Where does she live?", Limit: 5}
	hits, err := m.Recall(ctx, question)
	check(err)
	prompt := []llm.Message{llm.System(agentmemory.FormatFacts(hits)), llm.User(question.Text)}
	fmt.Println(len(hits), len(prompt))
	// Output: 1 2
}

func Example_learnFromATurn() {
	m, model := inProcess(), llmtest.NewScript(llmtest.Say(`{"facts":[{"content":"Alice is vegan","kind":"fact","evidence":"I'm vegan"}]}`))
	learner, err := extract.New(m, extract.Options{Extractor: extract.NewExtractor(model, extract.ExtractorOptions{})})
	check(err)
	check(learner.Learn(ctx, extract.Turn{Key: "1", Scope: alice, User: "Hello, I'm vegan.", Assistant: "Noted."}))
	check(learner.Drain(ctx)) // a service calls Work instead
	for fact, err := range m.List(ctx, memory.FactQuery{Reach: alice.Only(), Untrusted: true}) {
		fmt.Println(fact.Content, fact.Trust, err)
	}
	// Output: Alice is vegan untrusted <nil>
}

func Example_forgetAUser() {
	ctx, alice := context.Background(), memory.Scope{Tenant: "acme", User: "alice"}
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := m.Remember(ctx, alice, "Alice drinks tea"); err != nil {
		panic(err)
	}
	gone, err := m.Forget(ctx, alice) // facts, documents, values, conversations and turns
	fmt.Println(gone.Total(), err)
	// Output: 1 <nil>
}

func Example_value() {
	carts := inProcess().Values().In(alice, "shop", "carts")
	_, err := memory.PutValue(ctx, carts, "today", []string{"tea", "cups"}, memory.PutOptions{})
	check(err)
	cart, version, err := memory.GetValue[[]string](ctx, carts, "today")
	fmt.Println(cart, version > 0, err)
	// Output: [tea cups] true <nil>
}

func Example_documents() {
	base, err := knowledge.New(inProcess(), knowledge.Options{})
	check(err)
	files := knowledge.Folder(os.DirFS("testdata"), knowledge.FolderOptions{}) // a folder of text, Markdown or HTML
	report, _, err := knowledge.Collect(base.Ingest(ctx, alice, files, knowledge.IngestOptions{}))
	check(err)
	hits, err := base.Search(ctx, memory.Question{Reach: alice.Only(), Text: "How long is delivery?", Limit: 3})
	check(err)
	fmt.Println(report.Added, hits[0].Item.Source.Title, len(hits)) // knowledge.Prompt(hits) is for a model
	// Output: 1 Orders 1
}

func Example_conversationOfTwoTurns() {
	talks := inProcess().Conversations()
	session, _, err := talks.Resume(ctx, alice, "") // a new session
	check(err)
	_, err = talks.Append(ctx, alice, memory.Turn{Session: session, Messages: []llm.Message{llm.User("Hi"), llm.Assistant("Hello!")}})
	check(err)
	_, messages, err := talks.Resume(ctx, alice, session)
	fmt.Println(len(messages), err)
	// Output: 2 <nil>
}

func Example_profile() {
	profile := inProcess().Profile(alice)
	_, err := profile.Patch(ctx, "settings", []byte(`{"theme":"dark","units":"metric"}`), 0)
	check(err)
	settings, err := profile.Patch(ctx, "settings", []byte(`{"theme":null}`), 0)
	fmt.Println(string(settings.Value), err)
	// Output: {"units":"metric"} <nil>
}

func Example_limits() {
	ctx, alice := context.Background(), memory.Scope{Tenant: "acme", User: "alice"}
	limited, err := limit.New(inmemory.New(inmemory.Options{MaxFacts: 10_000}), limit.Options{Concurrent: 8, PerTenant: 2})
	if err != nil {
		panic(err)
	}
	m, err := memory.New(limited, memory.Options{})
	if err != nil {
		panic(err)
	}
	_, err = m.Remember(ctx, alice, "Alice drinks tea")
	fmt.Println(err)
	// Output: <nil>
}

func Example_fromSQLiteToPostgreSQL() {
	old, err := sqlitememory.Open(ctx, "memory.db", sqlitememory.Options{})
	check(err)
	db, err := pgmemory.Open(ctx, os.Getenv("DATABASE_URL"), pgmemory.Options{})
	check(err)
	var file bytes.Buffer // or a file
	_, err = openMemory(old).Export(ctx, &file, memory.TransferOptions{})
	check(err)
	counts, err := openMemory(db).Import(ctx, &file, memory.TransferOptions{})
	fmt.Println(counts, err)
}
