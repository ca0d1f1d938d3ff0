package knowledge

import "github.com/weft-go/weft/memory/driver"

// Source that documents share with their stores. Package driver documents them.
type (
	Source = driver.Source
	Chunk  = driver.Chunk
	Query  = driver.SourceQuery
)

// MaxURI is the largest number of bytes of a URI.
const MaxURI = driver.MaxURI
