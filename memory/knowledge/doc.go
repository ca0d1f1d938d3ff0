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
//	hits, err := base.Search(ctx, memory.Question{Reach: docs.Only(), Text: "how long is the notice period?"})
//
// Rules:
//
//   - A [Source] is a document. Package split cuts it into chunks, each with the headings
//     above it and its offsets in the text.
//   - Markdown, HTML, JSON and plain text are read as they are. An [Extractor] reads other
//     formats; package pdf has one for PDF files.
//   - For an unchanged document, the embedder is not called and nothing is written. After a change of a
//     document or of the splitter, only new chunks are embedded. To resume a stopped ingest, call
//     [Base.Ingest] again.
//   - A document is replaced in one transaction: a search sees the old or the new one.
//   - Without an embedder, a search uses words, and a passage need not have all of them. With an embedder, it
//     combines words and vectors.
//   - The text of a document is data and not an instruction. [Prompt] marks it as data for a
//     model, with the trust of each source.
//   - Limits: 1024 bytes for a URI, 512 for a title and a version, 16 KB for metadata, and [Options.MaxSize],
//     by default 8 MB, for a document. A search uses the first and the last 4 KB of a question, and the first
//     and the last 32 of their different words. [Options.Quota] limits the data of a scope.
//   - Documents usually belong to a tenant or a workspace. Documents in a scope with a user belong only to this
//     user. The method Inherit of [memory.Scope] returns a reach that finds both.
//
// A [Base] is safe for concurrent use, even by several programs.
package knowledge
