// Package pdf extracts the text of PDF files for package knowledge. It runs the program
// pdftotext of Poppler, which must be installed.
//
//	extractors := knowledge.Extractors{".pdf": pdf.Extractor{}}
//	documents := knowledge.Folder(os.DirFS("handbook"), knowledge.FolderOptions{Extractors: extractors})
//
// Rules:
//
//   - A chunk never spans two pages. Its heading is its page, as in "Page 3".
//   - A PDF can be made to exhaust the memory or to occupy a parser forever. The program
//     therefore runs in its own process with limits of time, output and, on Linux, memory.
//     Of the environment it gets PATH only. It reads the PDF from its standard input.
//   - A broken file fails with [ErrUnreadable], an encrypted one with [ErrEncrypted], and one
//     without text, such as a scan, with [ErrNoText].
package pdf
