package pgmemory

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// scopeDigest returns a hash that identifies a scope.
func scopeDigest(s driver.Scope) []byte { return digest(s.Tenant, s.Workspace, s.User, s.Agent) }

// ownerDigest returns a hash that identifies a user. The policies of row-level security compute the
// same hash.
func ownerDigest(user string) []byte { return digest(user) }

// digest returns a hash of texts, computed from the length of each text, a colon and the text, like
// the function mem_digest in the database.
func digest(parts ...string) []byte {
	var b []byte
	for _, part := range parts {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(append(b, ':'), part...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// number returns the first 64 bits of the digest, for locks and other numbers that identify texts.
func number(parts ...string) int64 { return int64(binary.BigEndian.Uint64(digest(parts...))) }

func names(s driver.Scope) []string { return []string{s.Tenant, s.Workspace, s.User, s.Agent} }

// around returns the digests of the scopes whose Forget covers s.
func around(s driver.Scope) [][]byte { return named(s, scopeDigest) }

// named returns the result of name for s and for each scope whose Forget covers s: all variants of
// s with an empty workspace, user or agent.
func named(s driver.Scope, name func(driver.Scope) []byte) [][]byte {
	var list [][]byte
	for mask := range 8 {
		wider := s
		for i, part := range []*string{&wider.Workspace, &wider.User, &wider.Agent} {
			if mask>>i&1 == 1 {
				*part = ""
			}
		}
		list = append(list, name(wider))
	}
	return list
}

// locks returns the advisory locks of a scope: of its tenant, and of its user. A write takes shared
// locks, so that Forget of the scope waits. Forget takes one of the locks exclusively.
func (d *DB) locks(s driver.Scope) (tenant, user int64) {
	return number("weft memory", d.schema, s.Tenant), number("weft memory", d.schema, s.Tenant, s.User)
}

// forgetLocks returns the locks that Forget takes: shared locks, and the exclusive lock alone.
func (d *DB) forgetLocks(s driver.Scope) (shared []int64, alone int64) {
	tenant, user := d.locks(s)
	if s.User == "" {
		return []int64{}, tenant
	}
	return []int64{tenant}, user
}

// args are the arguments of a statement.
type args []any

// add appends an argument, and returns its placeholder with a cast to the type as.
func (a *args) add(value any, as string) string {
	*a = append(*a, value)
	return "$" + itoa(len(*a)) + "::" + as
}

// addOnce is like add, with a second cast that the database evaluates once and not for each row.
func (a *args) addOnce(value any, as, into string) string {
	return "(SELECT " + a.add(value, as) + "::" + into + ")"
}

// reach returns a condition on mem_scope s for the scopes of a query, and whether it selects at
// most one scope.
func reach(q *driver.Reach, a *args) (text string, one bool) {
	if !q.AnyWorkspace && !q.AnyUser && !q.AnyAgent {
		if !q.Inherit {
			return `s.digest = ` + a.add(scopeDigest(q.Scope), "bytea"), true
		}
		return `s.digest = ANY (` + a.add(around(q.Scope), "bytea[]") + `)`, false
	}
	var b strings.Builder
	b.WriteString(`s.tenant = ` + a.add(q.Scope.Tenant, "text"))
	for _, part := range []struct {
		any         bool
		column, has string
	}{{q.AnyWorkspace, "workspace", q.Scope.Workspace}, {q.AnyUser, "user_id", q.Scope.User}, {q.AnyAgent, "agent", q.Scope.Agent}} {
		switch {
		case part.any:
		case q.Inherit:
			b.WriteString(` AND s.` + part.column + ` IN (` + a.add(part.has, "text") + `, '')`)
		default:
			b.WriteString(` AND s.` + part.column + ` = ` + a.add(part.has, "text"))
		}
	}
	return b.String(), false
}

// only returns a condition for rows of the single scope in the common table expression named of. Its
// BETWEEN selects the same rows as its equality, and makes the planner use an index: for a range with
// unknown ends, the planner estimates few rows, but for an equality alone it assumes that all scopes
// have the same size.
func only(column, of string) string {
	key := `(SELECT key FROM ` + of + `)`
	return column + ` = ` + key + ` AND ` + column + ` BETWEEN ` + key + ` AND ` + key
}
