package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-go/weft/examples/chatapi/internal/chat"
	"github.com/weft-go/weft/examples/chatapi/internal/store"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

// formats selects the files that ingest reads.
var formats = knowledge.FolderOptions{Only: []string{"*.md", "*.markdown", "*.txt", "*.rst", "*.html", "*.htm", "*.json", "*.jsonl", "*.csv"}}

// ingest stores the documents of a folder for all users. It skips unchanged documents, so it can run again
// at any time, also while the server runs.
func ingest(ctx context.Context, c config, folder string, prune bool, out io.Writer) error {
	root, err := os.OpenRoot(folder) // no link in the folder leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	o, _, err := open(ctx, c)
	if err != nil {
		return err
	}
	stores, err := store.Open(ctx, c.store)
	if err != nil {
		return err
	}
	s, err := chat.New(stores, o)
	if err == nil {
		err = take(ctx, s.Base(), root, prune, out)
	}
	return errors.Join(err, stores.Close())
}

func take(ctx context.Context, base *knowledge.Base, root *os.Root, prune bool, out io.Writer) error {
	if base == nil {
		return errors.New("there is nowhere to keep documents")
	}
	total, troubles, err := knowledge.Collect(base.Ingest(ctx, memory.Scope{}, knowledge.Folder(root.FS(), formats), knowledge.IngestOptions{Prune: prune}))
	for _, p := range troubles {
		fmt.Fprintf(out, "%s %s: %v\n", p.Status, p.URI, p.Err)
	}
	fmt.Fprintf(out, "%d documents: %d added, %d updated, %d unchanged, %d skipped, %d failed, %d removed; %d chunks\n",
		total.Documents(), total.Added, total.Updated, total.Unchanged, total.Skipped, total.Failed, total.Pruned, total.Chunks)
	return err
}
