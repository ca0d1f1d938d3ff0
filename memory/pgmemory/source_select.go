package pgmemory

import (
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

const readShelves = `WITH shelf AS MATERIALIZED (SELECT s.key, s.chunks, s.terms FROM weft.mem_shelf s WHERE `

// newSourceSelection returns a query as a condition on mem_source o.
func newSourceSelection(q *driver.SourceQuery) (*selection, error) {
	s := &selection{}
	scopes, one := reach(&q.Reach, &s.args)
	s.with = readShelves + scopes + `)`
	parts := []string{onShelf("o", one)}
	if len(q.URIs) > 0 {
		parts = append(parts, `o.uri = ANY (`+s.add(q.URIs, "text[]")+`)`)
	}
	if q.Prefix != "" {
		parts = append(parts, `o.uri ^@ `+s.add(q.Prefix, "text"))
	}
	if q.Trusted {
		parts = append(parts, `o.trust < 2`)
	}
	for _, c := range q.Where {
		text, err := condition(`o.metadata`, c, &s.args)
		if err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	s.where = strings.Join(parts, ` AND `)
	return s, nil
}

func onShelf(row string, one bool) string {
	if one {
		return only(row+`.shelf`, `shelf`)
	}
	return row + `.shelf IN (SELECT key FROM shelf)`
}

// newChunkSelection returns a query as a condition on mem_chunk f. To count the chunks, it reads
// their number from shelves or sources.
func newChunkSelection(q *driver.SourceQuery) (*selection, error) {
	s, err := newSourceSelection(q)
	if err != nil {
		return nil, err
	}
	const known = `SELECT coalesce(sum(c.chunks), 0)::bigint AS rows, coalesce(sum(c.terms), 0)::bigint AS terms FROM `
	if len(q.URIs) == 0 && q.Prefix == "" && !q.Trusted && len(q.Where) == 0 {
		s.where = onShelf("f", !q.AnyWorkspace && !q.AnyUser && !q.AnyAgent && !q.Inherit)
		s.size = known + `shelf c`
		return s, nil
	}
	s.with += `, picked AS MATERIALIZED (SELECT o.key, o.chunks, o.terms FROM weft.mem_source o WHERE ` + s.where + `)`
	s.where, s.size = `f.source IN (SELECT key FROM picked)`, known+`picked c`
	return s, nil
}
