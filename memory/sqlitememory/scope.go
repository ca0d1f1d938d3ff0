package sqlitememory

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

const (
	findScopeQuery = `SELECT key, secret FROM mem_scope WHERE tenant = ? AND workspace = ? AND user = ? AND agent = ?`
	scopeByKey     = `SELECT key, secret FROM mem_scope WHERE key = ?`
	insertScope    = `INSERT INTO mem_scope (tenant, workspace, user, agent, secret) VALUES (?, ?, ?, ?, ?)`
)

// findScope returns one without a key if nothing was stored in it.
func findScope(q *sqlitedb.Session, s memory.Scope) (found scope, err error) {
	_, err = q.One(findScopeQuery, []any{s.Tenant, s.Workspace, s.User, s.Agent}, &found.key, &found.secret)
	return found, err
}

func newScope(w *sqlitedb.Session, s memory.Scope) (made scope, err error) {
	made.secret = newSecret()
	made.key, err = w.Insert(insertScope, s.Tenant, s.Workspace, s.User, s.Agent, made.secret)
	return made, err
}

// someScopes returns those of a condition on mem_scope, up to a limit; a negative one means all.
func someScopes(q *sqlitedb.Session, text string, args []any, limit int) (list []scope, err error) {
	query := `SELECT key, secret FROM mem_scope WHERE ` + text + ` ORDER BY key LIMIT ?`
	err = q.Each(query, append(args[:len(args):len(args)], limit), func(scan func(...any) error) (bool, error) {
		var s scope
		err := scan(&s.key, &s.secret)
		list = append(list, s)
		return true, err
	})
	return list, err
}

// scopesOf returns a condition on mem_scope for the scopes that a query looks at.
func scopesOf(q *memory.Query) (text string, args []any) {
	var b strings.Builder
	b.WriteString(`tenant = ?`)
	args = []any{q.Scope.Tenant}
	for _, part := range []struct {
		any         bool
		column, has string
	}{
		{q.AnyWorkspace, "workspace", q.Scope.Workspace},
		{q.AnyUser, "user", q.Scope.User},
		{q.AnyAgent, "agent", q.Scope.Agent},
	} {
		switch {
		case part.any:
		case q.Inherit:
			b.WriteString(` AND ` + part.column + ` IN (?, '')`)
			args = append(args, part.has)
		default:
			b.WriteString(` AND ` + part.column + ` = ?`)
			args = append(args, part.has)
		}
	}
	return b.String(), args
}

// within returns a condition on mem_scope for the scopes that are forgotten with one.
func within(s memory.Scope) (text string, args []any) {
	return scopesOf(&memory.Query{Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == ""})
}

// around returns the digests of the scopes with which a scope is forgotten.
func around(s memory.Scope) [][]byte {
	var digests [][]byte
	for mask := range 8 {
		wider := s
		for i, part := range []*string{&wider.Workspace, &wider.User, &wider.Agent} {
			if mask>>i&1 == 1 {
				*part = ""
			}
		}
		digests = append(digests, scopeDigest(wider))
	}
	return digests
}

// scopeDigest stands for a scope without naming it.
func scopeDigest(s memory.Scope) []byte {
	var b []byte
	for _, part := range []string{s.Tenant, s.Workspace, s.User, s.Agent} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
