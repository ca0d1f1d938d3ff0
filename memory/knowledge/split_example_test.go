package knowledge_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// Each section is a chunk of its own. By default, these two short ones are one chunk.
func Example_sections() {
	ctx, scope := context.Background(), memory.Scope{Tenant: "acme"}
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	base, err := knowledge.New(m, knowledge.Options{Splitter: split.Splitter{Small: -1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	folder := fstest.MapFS{"delivery.md": {Data: []byte("# Delivery\n\n## Standard\n\nThree days.\n\n## Express\n\nOne day.\n")}}
	if _, _, err := knowledge.Collect(base.Ingest(ctx, scope, knowledge.Folder(folder, knowledge.FolderOptions{}), knowledge.IngestOptions{})); err != nil {
		fmt.Println(err)
		return
	}
	hits, err := base.Search(ctx, memory.Question{Reach: scope.Only(), Text: "express day"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range hits {
		fmt.Printf("%q %q\n", hit.Item.Chunk.Headings, hit.Item.Chunk.Content)
	}
	// Output:
	// ["Delivery" "Express"] "## Express\n\nOne day."
	// ["Delivery" "Standard"] "# Delivery\n\n## Standard\n\nThree days."
}
