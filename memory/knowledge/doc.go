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
// Rules to know:
//
//   - A [Source] is a document. Package split cuts it into chunks, each with the headings
//     above it and its offsets in the text.
//   - Markdown, HTML, JSON and plain text are read as they are. An [Extractor] reads other
//     formats; package pdf has one for PDF files.
//   - For an unchanged document the embedder is not called and nothing is written. Of a
//     changed document only new chunks are embedded, and so it is after a change of the
//     splitter. To resume a run that was stopped, run it again.
//   - A document is replaced in one transaction: a search sees the old or the new one.
//   - Without an embedder, a search uses words, and no passage needs to have all of them. With an
//     embedder, it combines words and meaning.
//   - The text of a document is data and not an instruction. [Prompt] marks it as data for a
//     model, with the trust of each source.
//   - A URI has up to 1024 bytes, a title and a version 512, metadata 16 KB, a document
//     8 MB unless [Options.MaxSize] says otherwise; of a question the first
//     and the last 4 KB count, and of their different words the first and the last 32. [Options.Quota] limits what a scope has.
//   - Documents usually belong to a tenant or a workspace. Only the user sees documents in a scope with a
//     user; [Query.Inherit] finds both.
//
// A [Base] is safe for concurrent use, also by several programs.
package knowledge
