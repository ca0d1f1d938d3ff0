package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

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
	wantErr(t, "all at once", err, driver.ErrQuota)
	_, err = store.Apply(ctx, ann, many[:20])
	wantNoErr(t, "as many as may be", err)
	_, err = store.Apply(ctx, ann, many[20:])
	wantErr(t, "one more", err, driver.ErrQuota)
	_, err = store.Apply(ctx, ann, []driver.FactChange{adding("fact 3")})
	wantNoErr(t, "one that is there", err)
	_, err = store.Apply(ctx, ann, []driver.FactChange{many[20], {Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: many[0].Record.ID}}}})
	wantNoErr(t, "one more, for one less", err)
	_, err = store.Apply(ctx, driver.Scope{Tenant: "acme", User: "bob"}, many[:5])
	wantNoErr(t, "another scope", err)
}
