package sqlitememory

import (
	"context"
	"slices"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A namespaceWalk lists the namespaces of a scope. It jumps from one to the next, however many
// values there are in each.
type namespaceWalk struct {
	scope driver.Scope
	query *driver.NamespaceQuery
	// from is the first address to look at, and end the first that is not; empty if there is no end.
	from, end string
}

func newNamespaceWalk(s driver.Scope, q *driver.NamespaceQuery) *namespaceWalk {
	n := &namespaceWalk{scope: s, query: q}
	labels := q.Prefix
	if i := slices.Index(labels, driver.Any); i >= 0 {
		labels = labels[:i]
	}
	n.from = packLabels(labels)
	n.end = prefixEnd(n.from)
	if q.After != nil {
		n.from = max(n.from, n.behind(q.After))
	}
	return n
}

// behind returns the first address that may be of a namespace after one.
func (n *namespaceWalk) behind(labels []string) string {
	if depth := n.query.MaxDepth; depth > 0 && len(labels) >= depth {
		return prefixEnd(packLabels(labels[:depth])) // what is within is the same when it is cut
	}
	return packLabels(labels) + "\x01" // behind its keys
}

const nextAddress = `SELECT f.address FROM mem_value f WHERE f.scope = ? AND f.address >= ? AND ` + alive + ` ORDER BY f.address LIMIT 1`

// next returns up to so many namespaces, from an address on.
func (n *namespaceWalk) next(ctx context.Context, q *sqlitedb.Session, from string, most int) (page [][]string, err error) {
	s, err := valueCorpus.findScope(q, n.scope)
	if err != nil || s.key == 0 {
		return nil, err
	}
	now := time.Now().UnixMicro()
	for len(page) < most {
		var packed []byte
		found, err := q.One(nextAddress, []any{s.key, []byte(from), now}, &packed)
		if err != nil || !found || n.end != "" && string(packed) >= n.end {
			return page, err
		}
		a, err := unpackAddress(packed)
		if err != nil {
			return page, err
		}
		if err := ctx.Err(); err != nil {
			return page, err
		}
		if !n.query.Match(a.Namespace) {
			from = packLabels(a.Namespace) + "\x01"
			continue
		}
		labels := a.Namespace
		if n.query.MaxDepth > 0 {
			labels = labels[:min(len(labels), n.query.MaxDepth)]
		}
		page = append(page, labels)
		from = n.behind(labels)
	}
	return page, nil
}
