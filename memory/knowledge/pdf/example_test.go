package pdf_test

import (
	"os"
	"time"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// Program pdftotext reads the files that end with .pdf. Other files are read directly.
func Example() {
	extractors := knowledge.Extractors{".pdf": pdf.Extractor{Timeout: time.Minute, MaxMemory: 512 << 20}}
	documents := knowledge.Folder(os.DirFS("handbook"), knowledge.FolderOptions{Extractors: extractors})
	_ = documents // for Base.Ingest
}
