package sqlitememory

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// A chunk is a [driver.ChunkRecord] with its key in the table and the key of its source.
type chunk struct {
	driver.ChunkRecord
	key, source int64
}

func (c *chunk) rowKey() int64 { return c.key }

var (
	chunkColumns = []string{
		"source", "ordinal", "id", "first", "behind", "tokens", "words", "model", "dimension", "norm", "checksum",
		"headings", "content", "terms", "embedding",
	}
	insertChunk  = insertInto("mem_chunk", chunkColumns)
	selectChunk  = `SELECT f.key, f.` + strings.Join(chunkColumns, ", f.")
	spanQuery    = selectChunk + ` FROM mem_chunk f WHERE f.source = ? AND f.ordinal >= ? AND f.ordinal < ? ORDER BY f.ordinal LIMIT ?`
	chunksByKeys = selectChunk + ` FROM json_each(?) j CROSS JOIN mem_chunk f ON f.key = j.value`
)

// chunkValues returns the column values of a chunk.
func chunkValues(source int64, r *driver.ChunkRecord) ([]any, error) {
	id, ok := packID(r.ID)
	if !ok {
		return nil, fmt.Errorf("chunk id %.60q is no UUID: %w", r.ID, driver.ErrInvalid)
	}
	headings, terms, embedding := packTerms(r.Headings), packTerms(r.Terms), packVector(r.Embedding)
	return []any{
		source, r.Ordinal, id, r.Start, r.End, r.Tokens, len(r.Terms), r.Model, len(r.Embedding), length(r.Embedding),
		checksum(id, headings, []byte(r.Content), terms, embedding), headings, r.Content, terms, embedding,
	}, nil
}

// scanChunk reads a chunk without the id of its source. It returns [ErrCorrupt] if the checksum or
// a size of the row is wrong.
func scanChunk(scan func(...any) error) (*chunk, error) {
	var (
		c                           chunk
		id, headings, terms, vector []byte
		words, dimension            int
		stored                      int64
		norm                        float64
	)
	err := scan(&c.key, &c.source, &c.Ordinal, &id, &c.Start, &c.End, &c.Tokens, &words, &c.Model, &dimension, &norm, &stored,
		&headings, &c.Content, &terms, &vector)
	if err != nil {
		return nil, err
	}
	c.ID = spellID(id)
	if len(id) != 16 || len(vector) != 4*dimension || stored != checksum(id, headings, []byte(c.Content), terms, vector) {
		return nil, fmt.Errorf("chunk %s: %w", c.ID, ErrCorrupt)
	}
	if c.Terms, err = unpackTerms(terms); err != nil || len(c.Terms) != words {
		return nil, fmt.Errorf("terms of chunk %s: %w", c.ID, ErrCorrupt)
	}
	if c.Headings, err = unpackTerms(headings); err != nil {
		return nil, fmt.Errorf("headings of chunk %s: %w", c.ID, err)
	}
	c.Embedding = unpackVector(vector)
	return &c, nil
}
