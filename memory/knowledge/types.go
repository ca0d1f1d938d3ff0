package knowledge

import "github.com/weft-go/weft/memory/driver"

type (
	// Source describes a stored document, without its text.
	Source = driver.Source
	// Chunk is a part of a source that a search can find.
	Chunk = driver.Chunk
	// Query selects sources.
	Query = driver.SourceQuery
)

// MaxURI is the largest number of bytes of a URI.
const MaxURI = driver.MaxURI
