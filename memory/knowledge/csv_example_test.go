package knowledge_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// table makes a Markdown table of a CSV file. The rows may be cut into several chunks, and each has the header.
func table(_ context.Context, file []byte) (knowledge.Extracted, error) {
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		return knowledge.Extracted{}, err
	}
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "\r", "")
	var b strings.Builder
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cell.Replace(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return knowledge.Extracted{Text: b.String(), Format: split.Markdown}, nil
}

func Example_csv() {
	ctx, scope := context.Background(), memory.Scope{Tenant: "acme"}
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	base, err := knowledge.New(m, knowledge.Options{Splitter: split.Splitter{Size: 40}}) // small, for the example
	if err != nil {
		fmt.Println(err)
		return
	}
	folder := fstest.MapFS{"fares.csv": {Data: []byte("from,to,fare\nAthens,Oslo,190\nBern,Rome,80\nKiel,Lyon,120\nPorto,Turin,95\nVilnius,Zagreb,110\n")}}
	files := knowledge.Folder(folder, knowledge.FolderOptions{Extractors: knowledge.Extractors{".csv": knowledge.ExtractorFunc(table)}})
	if _, _, err := knowledge.Collect(base.Ingest(ctx, scope, files, knowledge.IngestOptions{})); err != nil {
		fmt.Println(err)
		return
	}
	hits, err := base.Search(ctx, memory.Question{Reach: scope.Only(), Text: "fare Vilnius", Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hits[0].Item.Chunk.Headings)
	fmt.Println(hits[0].Item.Chunk.Content)
	// Output:
	// [from | to | fare]
	// | Porto | Turin | 95 |
	// | Vilnius | Zagreb | 110 |
}
