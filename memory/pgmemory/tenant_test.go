package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory/driver"
)

// MaxFacts limits the valid facts of a scope, and does not count facts of other scopes.
func TestQuota(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.MaxFacts = 20
	store := p.open(t).Facts()
	var many []driver.FactChange
	for i := range 21 {
		many = append(many, adding(fmt.Sprint("fact ", i)))
	}
	_, err := store.Apply(ctx, ann, many)
	assert.ErrorIs(t, err, driver.ErrQuota, "all at once")
	_, err = store.Apply(ctx, ann, many[:20])
	assert.NoError(t, err, "as many as may be")
	_, err = store.Apply(ctx, ann, many[20:])
	assert.ErrorIs(t, err, driver.ErrQuota, "one more")
	_, err = store.Apply(ctx, ann, []driver.FactChange{adding("fact 3")})
	assert.NoError(t, err, "one that is there")
	_, err = store.Apply(ctx, ann, []driver.FactChange{many[20], {Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: many[0].Record.ID}}}})
	assert.NoError(t, err, "one more, for one less")
	_, err = store.Apply(ctx, driver.Scope{Tenant: "acme", User: "bob"}, many[:5])
	assert.NoError(t, err, "another scope")
}
