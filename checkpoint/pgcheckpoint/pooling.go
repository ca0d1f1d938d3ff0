package pgcheckpoint

import "github.com/weft-go/weft/internal/pgdb"

// pooled reports whether there is a transaction pooler in between.
func pooled(db DB, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
	return pgdb.Pooled(db)
}

// known is nil where it is to be found out.
func (p Pooling) known() *bool {
	if p == Detect {
		return nil
	}
	return new(p == Transaction)
}
