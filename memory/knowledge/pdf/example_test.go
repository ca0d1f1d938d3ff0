package pdf_test

import (
	"os"
	"time"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// Files that end with .pdf are read by pdftotext, and the other files as they are.
func Example() {
	extractors := knowledge.Extractors{".pdf": pdf.Extractor{Timeout: time.Minute, MaxMemory: 512 << 20}}
	documents := knowledge.Folder(os.DirFS("handbook"), knowledge.FolderOptions{Extractors: extractors})
	_ = documents // for Base.Ingest
}
