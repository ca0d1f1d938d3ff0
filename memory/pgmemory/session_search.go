package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory/driver"
)

// roughColumn is true if the reached sessions have messages without terms, from programs in other
// languages.
const roughColumn = `EXISTS (SELECT FROM weft.mem_message r WHERE r.rough AND r.session = ANY (ARRAY(SELECT key FROM reach)))`

// spotColumns are the scope and the id of the session s of a message.
const spotColumns = `s.tenant, s.workspace, s.user_id, s.agent, s.id, `

// messageTable is the table of messages, which have no vectors.
var messageTable = table{name: "weft.mem_message", rows: `(weft.mem_message f JOIN weft.mem_session s ON s.key = f.session)`}

// Search implements [driver.ConversationStore], in one round trip. It takes more if programs in
// other languages have written messages since the last search, because it first computes their
// terms.
func (c *conversationStore) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	found, rough, err := c.search(ctx, &s)
	for batch := 0; err == nil && rough && batch < maxBatches; batch++ {
		var n int
		if n, err = c.refine(ctx, &s.Query); err == nil && (n < roughBatch || batch+1 == maxBatches) {
			rough = false
			found, _, err = c.search(ctx, &s)
		}
	}
	if err != nil {
		return driver.MessageCandidates{}, c.db.fail("search conversations", err)
	}
	return found, nil
}

// search returns the candidates, and reports whether there are messages whose terms are not
// computed yet.
func (c *conversationStore) search(ctx context.Context, s *driver.MessageSearch) (found driver.MessageCandidates, rough bool, err error) {
	sel, err := messageSelection(s)
	if err != nil {
		return found, false, err
	}
	p := c.db.newPlan(&messageTable, sel, &wanted{words: words(s.Query.Scope.Tenant, s.Terms), terms: s.Terms, limit: s.Limit}, spotColumns+messageColumns)
	p.tell(roughColumn, &rough)
	found.Frequency = make([]int64, len(s.Terms))
	var m messageRow
	at := &m.Scope
	dest := append([]any{&at.Tenant, &at.Workspace, &at.User, &at.Agent, &m.Session}, m.dest()...)
	err = c.db.seek(ctx, p, dest, func() { found.Rows = nil }, func() error {
		found.Rows = append(found.Rows, m.row())
		return nil
	})
	found.Messages, found.Terms = p.rows, p.terms
	copy(found.Frequency, p.frequency)
	return found, rough, err
}

// messageSelection selects the messages of a search.
func messageSelection(s *driver.MessageSearch) (*selection, error) {
	sel := &selection{slow: true}
	reached, err := sessions(&s.Query, &sel.args)
	if err != nil {
		return nil, err
	}
	sel.with = `WITH reach AS MATERIALIZED (SELECT s.key FROM weft.mem_session s WHERE ` + reached + `)`
	roles := make([]string, len(s.Roles))
	for i, role := range s.Roles {
		roles[i] = string(role)
	}
	sel.where = `f.session = ANY (ARRAY(SELECT key FROM reach)) AND f.role = ANY (` + sel.add(roles, "text[]") + `)`
	if !s.Since.IsZero() {
		sel.where += ` AND f.at >= ` + sel.add(s.Since.UTC(), "timestamptz")
	}
	if !s.Before.IsZero() {
		sel.where += ` AND f.at < ` + sel.add(s.Before.UTC(), "timestamptz")
	}
	sel.size = `SELECT count(*) AS rows, coalesce(sum(f.word_count), 0)::bigint AS terms FROM weft.mem_message f WHERE ` + sel.where
	return sel, nil
}
