package pgmemory

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"
)

// chunkColumns holds the columns of new chunks: element i of each slice belongs to chunk i.
type chunkColumns struct {
	source, ordinal, tokens                   []int32
	start, end                                []int64
	id, model, headings, content, terms, word []string
	space                                     []*int64
	vector                                    []*string
}

func newColumns(tenant string, fresh []freshChunk) *chunkColumns {
	l := &chunkColumns{
		source: []int32{}, ordinal: []int32{}, tokens: []int32{}, start: []int64{}, end: []int64{}, id: []string{}, model: []string{},
		headings: []string{}, content: []string{}, terms: []string{}, word: []string{}, space: []*int64{}, vector: []*string{},
	}
	lexicon := newLexicon(tenant)
	for _, c := range fresh {
		l.source, l.ordinal, l.tokens = append(l.source, c.source), append(l.ordinal, int32(c.Ordinal)), append(l.tokens, int32(c.Tokens))
		l.start, l.end = append(l.start, int64(c.Start)), append(l.end, int64(c.End))
		l.id, l.model, l.headings, l.content = append(l.id, c.ID), append(l.model, c.Model), append(l.headings, textArray(c.Headings)), append(l.content, c.Content)
		l.terms, l.word = append(l.terms, textArray(c.Terms)), append(l.word, lexicon.array(c.Terms))
		var in *int64
		var vector *string
		if n := len(c.Embedding); n > 0 {
			text, number := spellVector(c.Embedding), space(c.Model, n)
			in, vector = &number, &text
		}
		l.space, l.vector = append(l.space, in), append(l.vector, vector)
	}
	return l
}

// values returns the columns as statement arguments, without the column source.
func (l *chunkColumns) values() []any {
	return []any{l.ordinal, l.start, l.end, l.tokens, l.id, l.model, l.headings, l.content, l.terms, l.word, l.space, l.vector}
}

const copyQuery = `COPY weft.mem_chunk (shelf, source, ordinal, starts, ends, tokens, word_count, id, model, headings, content, terms, words, space, embedding)
	FROM STDIN BINARY`

// copyChunks stores new chunks with COPY. It encodes each chunk when the connection reads it.
func (d *DB) copyChunks(ctx context.Context, tx Conn, tenant string, at landing, fresh []freshChunk) error {
	r := &chunkReader{words: newLexicon(tenant), at: at, fresh: fresh, left: []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")}
	conn, ok := tx.(*pgx.Conn)
	if !ok {
		conn = tx.(pgx.Tx).Conn()
	}
	_, err := conn.PgConn().CopyFrom(ctx, r, d.sql(copyQuery))
	return err
}

// A chunkReader encodes chunks in the binary format of COPY.
type chunkReader struct {
	words *lexicon
	at    landing
	fresh []freshChunk
	row   tuple
	left  []byte // the bytes of the header or of the row that are not yet read
	ended bool
}

// Read implements [io.Reader].
func (r *chunkReader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(r.left) == 0 && !r.next() {
			break
		}
		copied := copy(p[n:], r.left)
		r.left = r.left[copied:]
		n += copied
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// next encodes the next chunk, or the trailer after the last one. It returns false after the
// trailer.
func (r *chunkReader) next() bool {
	r.row = r.row[:0]
	switch {
	case len(r.fresh) > 0:
		r.chunk(&r.row, r.fresh[0])
		r.fresh = r.fresh[1:]
	case !r.ended:
		r.row = binary.BigEndian.AppendUint16(r.row, math.MaxUint16)
		r.ended = true
	default:
		return false
	}
	r.left = r.row
	return true
}

func (r *chunkReader) chunk(t *tuple, c freshChunk) {
	*t = binary.BigEndian.AppendUint16(*t, 15)
	t.bigint(r.at.shelf)
	t.bigint(r.at.sources[c.source-1])
	t.int(c.Ordinal)
	t.bigint(int64(c.Start))
	t.bigint(int64(c.End))
	t.int(c.Tokens)
	t.int(len(c.Terms))
	t.uuid(c.ID)
	t.text(c.Model)
	t.texts(c.Headings)
	t.text(c.Content)
	t.texts(c.Terms)
	t.bigints(r.words.different(c.Terms))
	if len(c.Embedding) == 0 {
		t.size(-1)
		t.size(-1)
		return
	}
	t.bigint(space(c.Model, len(c.Embedding)))
	t.vector(c.Embedding)
}

// A tuple is a row in the binary format of COPY: the size and the bytes of each value.
type tuple []byte

func (t *tuple) size(n int)     { *t = binary.BigEndian.AppendUint32(*t, uint32(n)) }
func (t *tuple) long(n int64)   { *t = binary.BigEndian.AppendUint64(*t, uint64(n)) }
func (t *tuple) int(n int)      { t.size(4); t.size(n) }
func (t *tuple) bigint(n int64) { t.size(8); t.long(n) }
func (t *tuple) text(s string) {
	t.size(len(s))
	*t = append(*t, s...)
}

// uuid writes an id for which isID is true.
func (t *tuple) uuid(id string) {
	t.size(16)
	*t, _ = hex.AppendDecode(*t, []byte(strings.ReplaceAll(id, "-", "")))
}

// The object ids of the types of array elements.
const (
	typeBigint = 20
	typeText   = 25
)

// array writes the header of an array. The argument of is the type of its elements, items is their
// number, and bytes is their total size without the four bytes of each element's length.
func (t *tuple) array(of, items, bytes int) {
	if items == 0 {
		t.size(12)
		t.size(0) // dimensions
		t.size(0) // no nulls
		t.size(of)
		return
	}
	t.size(20 + 4*items + bytes)
	t.size(1)
	t.size(0)
	t.size(of)
	t.size(items)
	t.size(1) // the lower bound of the index
}

func (t *tuple) texts(list []string) {
	bytes := 0
	for _, s := range list {
		bytes += len(s)
	}
	t.array(typeText, len(list), bytes)
	for _, s := range list {
		t.text(s)
	}
}

func (t *tuple) bigints(list []int64) {
	t.array(typeBigint, len(list), 8*len(list))
	for _, n := range list {
		t.bigint(n)
	}
}

func (t *tuple) vector(v []float32) {
	t.size(4 + 4*len(v))
	*t, _ = pgvector.NewVector(v).EncodeBinary(*t) // EncodeBinary never returns an error
}
