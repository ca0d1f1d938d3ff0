package pgcheckpoint

import "github.com/weft-go/weft/internal/pgdb"

// pooled reports whether db is configured as a connection through a transaction pooler.
func pooled(db DB, p Pooling) bool {
	if p != Detect {
		return p == Transaction
	}
	return pgdb.Pooled(db)
}

// known reports whether there is a transaction pooler. It returns nil for [Detect].
func (p Pooling) known() *bool {
	if p == Detect {
		return nil
	}
	return new(p == Transaction)
}
