package knowledge_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"testing/fstest"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// gunzip extracts Markdown that is compressed.
func gunzip(_ context.Context, file []byte) (knowledge.Extracted, error) {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return knowledge.Extracted{}, err
	}
	const limit = 8 << 20
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if len(text) > limit {
		return knowledge.Extracted{}, knowledge.ErrTooLarge
	}
	return knowledge.Extracted{Text: string(text), Format: split.Markdown}, err
}

func ExampleExtractors() {
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, err := io.WriteString(w, "# Kettle\n\nDescale it every month.\n")
	if err = errors.Join(err, w.Close()); err != nil {
		fmt.Println(err)
		return
	}
	folder := fstest.MapFS{"kettle.md.gz": {Data: file.Bytes()}, "broken.gz": {Data: []byte("x")}}
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
	extractors := knowledge.Extractors{".gz": knowledge.ExtractorFunc(gunzip)}
	documents := knowledge.Folder(folder, knowledge.FolderOptions{Extractors: extractors})
	for p, err := range base.Ingest(context.Background(), memory.Scope{Tenant: "acme"}, documents, knowledge.IngestOptions{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.URI, p.Status, p.Err)
	}
	// Output:
	// broken.gz failed extract the text of "broken.gz": unexpected EOF
	// kettle.md.gz added <nil>
}
