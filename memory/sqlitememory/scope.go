package sqlitememory

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// findScope returns a scope. If the scope does not exist, its key is 0.
func (c *corpus) findScope(q *sqlitedb.Session, s driver.Scope) (found scope, err error) {
	_, err = q.One(`SELECT key, secret FROM `+c.scopes+` WHERE tenant = ? AND workspace = ? AND user = ? AND agent = ?`,
		[]any{s.Tenant, s.Workspace, s.User, s.Agent}, &found.key, &found.secret)
	return found, err
}

// enterScope returns a scope, and creates it if it does not exist.
func (c *corpus) enterScope(w *sqlitedb.Session, s driver.Scope) (scope, error) {
	found, err := c.findScope(w, s)
	if err != nil || found.key != 0 {
		return found, err
	}
	made := scope{secret: newSecret()}
	made.key, err = w.Insert(`INSERT INTO `+c.scopes+` (tenant, workspace, user, agent, secret) VALUES (?, ?, ?, ?, ?)`,
		s.Tenant, s.Workspace, s.User, s.Agent, made.secret)
	return made, err
}

func (c *corpus) removeScope(w *sqlitedb.Session, s *scope) error {
	_, err := w.Exec(`DELETE FROM `+c.scopes+` WHERE key = ?`, s.key)
	return err
}

// scopeOf returns the scope with a key.
func (c *corpus) scopeOf(q *sqlitedb.Session, key int64) (found scope, err error) {
	_, err = q.One(`SELECT key, secret FROM `+c.scopes+` WHERE key = ?`, []any{key}, &found.key, &found.secret)
	return found, err
}

// someScopes returns up to limit scopes that meet a condition. A negative limit means all.
func (c *corpus) someScopes(q *sqlitedb.Session, text string, args []any, limit int) (list []scope, err error) {
	query := `SELECT key, secret FROM ` + c.scopes + ` WHERE ` + text + ` ORDER BY key LIMIT ?`
	err = q.Each(query, append(args[:len(args):len(args)], limit), func(scan func(...any) error) (bool, error) {
		var s scope
		err := scan(&s.key, &s.secret)
		list = append(list, s)
		return true, err
	})
	return list, err
}

// scopesOf returns a condition on a table of scopes for the scopes of a reach.
func scopesOf(q *driver.Reach) (text string, args []any) {
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

// within returns a condition on a table of scopes for the scopes that Forget(s) covers.
func within(s driver.Scope) (text string, args []any) {
	r := s.Within()
	return scopesOf(&r)
}

// around returns the digests of the scopes whose Forget covers s: s, and all variants of s with an
// empty workspace, user or agent.
func around(s driver.Scope, names ...string) [][]byte {
	var digests [][]byte
	for mask := range 8 {
		wider := s
		for i, part := range []*string{&wider.Workspace, &wider.User, &wider.Agent} {
			if mask>>i&1 == 1 {
				*part = ""
			}
		}
		digests = append(digests, scopeDigest(wider, names...))
	}
	return digests
}

// scopeDigest returns a hash that identifies a scope and names in it.
func scopeDigest(s driver.Scope, names ...string) []byte {
	var b []byte
	for _, part := range append([]string{s.Tenant, s.Workspace, s.User, s.Agent}, names...) {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

const insertForgotten = `INSERT INTO mem_forgotten (scope, at) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET at = excluded.at`

// forgottenAt returns the latest time at which the scope of one of the digests was forgotten, or
// 0.
func forgottenAt(q *sqlitedb.Session, digests ...[]byte) (at int64, err error) {
	args := make([]any, len(digests))
	for i, digest := range digests {
		args[i] = digest
	}
	_, err = q.One(`SELECT coalesce(max(at), 0) FROM mem_forgotten WHERE scope IN (?`+strings.Repeat(", ?", len(args)-1)+`)`, args, &at)
	return at, err
}
