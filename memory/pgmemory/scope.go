package pgmemory

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// scopeDigest stands for a scope without naming it.
func scopeDigest(s driver.Scope) []byte { return digest(s.Tenant, s.Workspace, s.User, s.Agent) }

// ownerDigest stands for a user. The policies for users make the same of theirs.
func ownerDigest(user string) []byte { return digest(user) }

// digest stands for texts, as mem_digest does in the database: of each the length, a colon and
// the text.
func digest(parts ...string) []byte {
	var b []byte
	for _, part := range parts {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(append(b, ':'), part...)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// number stands for parts where the database wants a number.
func number(parts ...string) int64 { return int64(binary.BigEndian.Uint64(digest(parts...))) }

func names(s driver.Scope) []string { return []string{s.Tenant, s.Workspace, s.User, s.Agent} }

// around returns the digests of the scopes with which a scope is forgotten.
func around(s driver.Scope) [][]byte { return named(s, scopeDigest) }

// named returns the names of the scopes with which a scope is forgotten.
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

// locks are what keeps a scope from being forgotten while something is stored in it: one for the
// tenant, and one for the user. To forget is to take the last of them alone.
func (d *DB) locks(s driver.Scope) (tenant, user int64) {
	return number("weft memory", d.schema, s.Tenant), number("weft memory", d.schema, s.Tenant, s.User)
}

// forgetLocks are what to forget a scope takes: a lock with others, and one alone.
func (d *DB) forgetLocks(s driver.Scope) (shared []int64, alone int64) {
	tenant, user := d.locks(s)
	if s.User == "" {
		return []int64{}, tenant
	}
	return []int64{tenant}, user
}

// An args collects the values of a statement.
type args []any

// add returns what stands for a value in the statement.
func (a *args) add(value any, as string) string {
	*a = append(*a, value)
	return "$" + itoa(len(*a)) + "::" + as
}

// addOnce is add for a value that is made into something, which is not to be done again for each row.
func (a *args) addOnce(value any, as, into string) string {
	return "(SELECT " + a.add(value, as) + "::" + into + ")"
}

// reach returns a condition on mem_scope s for the scopes that a query looks at, and whether that is
// one at most.
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

// only is a condition for rows of the one scope of a common table, which is to be looked for in an index. The database
// guesses how many rows that are by how many scopes there are, however much their sizes differ, and would rather
// read the table; a range with ends that it does not know it takes for little.
func only(column, of string) string {
	key := `(SELECT key FROM ` + of + `)`
	return column + ` = ` + key + ` AND ` + column + ` BETWEEN ` + key + ` AND ` + key
}
