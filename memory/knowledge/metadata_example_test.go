package knowledge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path"
	"testing/fstest"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// withMetadata sets the metadata of documents by their URIs.
func withMetadata(documents iter.Seq2[knowledge.Document, error], of func(uri string) any) iter.Seq2[knowledge.Document, error] {
	return func(yield func(knowledge.Document, error) bool) {
		for d, err := range documents {
			if err == nil {
				d.Metadata, err = json.Marshal(of(d.URI))
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// The folder of a file becomes its department, and a search looks only at one department.
func Example_metadata() {
	ctx, scope := context.Background(), memory.Scope{Tenant: "acme"}
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	base, err := knowledge.New(m, knowledge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	folder := fstest.MapFS{"sales/leave.md": {Data: []byte("Ask Ann for leave.")}, "support/leave.md": {Data: []byte("Ask Bob for leave.")}}
	files := withMetadata(knowledge.Folder(folder, knowledge.FolderOptions{}), func(uri string) any {
		return map[string]any{"owner": map[string]string{"department": path.Dir(uri)}}
	})
	if _, _, err := knowledge.Collect(base.Ingest(ctx, scope, files, knowledge.IngestOptions{})); err != nil {
		fmt.Println(err)
		return
	}
	only := knowledge.Filter{Where: []memory.Condition{memory.Where("owner.department", memory.Equal, "support")}}
	hits, err := base.Search(ctx, memory.Question{Reach: scope.Only(), Text: "leave"}, only)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range hits {
		fmt.Println(hit.Item.Source.URI, string(hit.Item.Source.Metadata))
	}
	// Output: support/leave.md {"owner":{"department":"support"}}
}
