// Package knowledge keeps documents for an agent, and finds the passages that answer a
// question.
//
//	base, err := knowledge.New(m, knowledge.Options{})
//	if err != nil {
//		return err
//	}
//	docs := memory.Scope{Tenant: "acme"}
//	for p, err := range base.Ingest(ctx, docs, knowledge.Folder(os.DirFS("handbook"), knowledge.FolderOptions{}), knowledge.IngestOptions{}) {
//		…
//	}
//	hits, err := base.Search(ctx, knowledge.Question{Query: knowledge.Query{Reach: docs.Only()}, Text: "how long is the notice period?"})
//
// What to know about it:
//
//   - A [Source] is a document. Package split cuts it into chunks, each with the headings
//     above it and its offsets in the text.
//   - Markdown, HTML, JSON and plain text are read as they are. An [Extractor] reads other
//     formats; package pdf has one for PDF files.
//   - For an unchanged document the embedder is not called and nothing is written. Of a
//     changed document only new chunks are embedded, and so it is after a change of the
//     splitter. To resume a run that was stopped, run it again.
//   - A document is swapped in one transaction: a search sees it as it was, or as
//     it is.
//   - Without an embedder a search goes by words, ranked, and never asks for all of
//     them. With one, what is found by words and by meaning is united.
//   - What a document says is data and not an instruction, whoever wrote it. [Prompt]
//     shows results to a model as such, and each says what trust its source has.
//   - A URI has up to 1024 bytes, a title and a version 512, metadata 16 KB, a document
//     8 MB unless [Options.MaxSize] says otherwise; of a question the first
//     and the last 4 KB count, and of their different words the first and the last 32. [Options.Quota] limits what a scope has.
//   - Knowledge is a tenant's or a workspace's. In a scope with a user it is that
//     user's alone; [Query.Inherit] finds both.
//
// A [Base] is safe for use by any number of goroutines and programs at once.
package knowledge
