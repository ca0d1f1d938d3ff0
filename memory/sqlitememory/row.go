package sqlitememory

import (
	"encoding/json"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of the id and the parts of a row, each part with its length. It
// detects damage.
func checksum(id []byte, parts ...[]byte) int64 {
	sum := crc32.Update(0, castagnoli, id)
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, []byte{byte(len(part)), byte(len(part) >> 8)})
		sum = crc32.Update(sum, castagnoli, part)
	}
	return int64(sum)
}

func insertInto(table string, columns []string) string {
	return `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (?` + strings.Repeat(", ?", len(columns)-1) + `)`
}

// updateByKey returns an UPDATE whose arguments are the values of the columns, and then the key.
func updateByKey(table string, columns []string) string {
	return `UPDATE ` + table + ` SET ` + strings.Join(columns, " = ?, ") + ` = ? WHERE key = ?`
}

// A keyed is a row with a key.
type keyed interface{ rowKey() int64 }

// listOf returns a list of numbers or texts as JSON, for json_each.
func listOf[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // impossible for numbers and texts
	}
	return string(b)
}

// byKeys returns the rows of a query whose first argument is a list of keys, in the order of the
// keys. It skips keys without a row.
func byKeys[T keyed](q *sqlitedb.Session, query string, keys []int64, args []any, scan func(scan func(...any) error) (T, error)) ([]T, error) {
	const most = 512
	rows := make([]T, 0, len(keys))
	for len(keys) > 0 {
		some := keys[:min(most, len(keys))]
		keys = keys[len(some):]
		byKey := make(map[int64]T, len(some))
		err := q.Each(query, append([]any{listOf(some)}, args...), func(read func(...any) error) (bool, error) {
			r, err := scan(read)
			if err == nil {
				byKey[r.rowKey()] = r
			}
			return true, err
		})
		if err != nil {
			return rows, err
		}
		for _, key := range some {
			if r, ok := byKey[key]; ok {
				rows = append(rows, r)
			}
		}
	}
	return rows, nil
}

// The maximum number of rows and bytes of a page. No transaction is open between two pages.
const (
	pageRows  = 128
	pageBytes = 4 << 20
)

// A listing yields rows page by page. Each page is read in one transaction.
type listing[T any] struct {
	// limit is the maximum number of rows to yield. A negative limit means all.
	limit int
	// holds, if not nil, reports whether a row is yielded.
	holds func(T) bool
	// read returns up to n rows after the row last, or the first rows if last is nil, and whether
	// there may be more.
	read func(last *T, n int) (page []T, more bool, err error)
	// then, if not nil, is called with the yielded rows of a page.
	then func(page []T) error
}

func (l listing[T]) all() iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for left, more := l.limit, true; more && left != 0; {
			n := pageRows
			if l.holds == nil && left > 0 {
				n = min(n, left)
			}
			page, again, err := l.read(last, n)
			if more = again && len(page) > 0; more {
				after := page[len(page)-1]
				last = &after
			}
			page = l.kept(page, left)
			if err == nil && l.then != nil && len(page) > 0 {
				err = l.then(page)
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			left -= len(page)
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// kept returns the rows of a page that are yielded: the rows for which holds returns true, at
// most left rows.
func (l listing[T]) kept(page []T, left int) []T {
	if l.holds != nil {
		kept := page[:0]
		for _, r := range page {
			if l.holds(r) {
				kept = append(kept, r)
			}
		}
		page = kept
	}
	if left >= 0 {
		page = page[:min(len(page), left)]
	}
	return page
}
