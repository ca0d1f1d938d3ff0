package sqlitememory

import (
	"context"
	"slices"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A namespaceWalk lists the namespaces of a scope by reading one value of each namespace.
type namespaceWalk struct {
	scope driver.Scope
	query *driver.NamespaceQuery
	// The walk reads addresses that are at least from and less than end. An empty end means
	// no upper limit.
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

// behind returns the least address that a namespace after labels can have.
func (n *namespaceWalk) behind(labels []string) string {
	if depth := n.query.MaxDepth; depth > 0 && len(labels) >= depth {
		return prefixEnd(packLabels(labels[:depth])) // deeper namespaces have the same first labels
	}
	return packLabels(labels) + "\x01" // greater than the address of each key in labels
}

const nextAddress = `SELECT f.address FROM mem_value f WHERE f.scope = ? AND f.address >= ? AND ` + alive + ` ORDER BY f.address LIMIT 1`

// next returns up to most namespaces from an address on.
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
