// Package pdf extracts the text of PDF files for package knowledge. It runs the program
// pdftotext of Poppler, which must be installed.
//
//	extractors := knowledge.Extractors{".pdf": pdf.Extractor{}}
//	documents := knowledge.Folder(os.DirFS("handbook"), knowledge.FolderOptions{Extractors: extractors})
//
// Rules:
//
//   - A chunk never spans two pages. Its heading is its page, as in "Page 3".
//   - A malicious PDF can use all memory, or keep a parser busy forever. So the program runs in its own
//     process with limits of time, output and, on Linux, memory. Elsewhere, run your program in a
//     container with a limit of memory. The environment of the process has only PATH. It reads the PDF
//     from its standard input.
//   - A broken file fails with [ErrUnreadable], an encrypted file with [ErrEncrypted], and a file without
//     text, such as a scan, with [ErrNoText].
package pdf
