package sqlitememory

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// packLabels encodes labels. The encodings have the same order as the lists of labels, and the
// encoding of a namespace is a prefix of the encodings of all namespaces in it. No label has a zero
// byte.
func packLabels(labels []string) string {
	var b strings.Builder
	for _, label := range labels {
		b.WriteString(label)
		b.WriteByte(0)
	}
	return b.String()
}

func packAddress(a driver.Address) []byte {
	return []byte(packLabels(a.Namespace) + "\x00" + a.Key)
}

// unpackAddress decodes an address. It returns [ErrCorrupt] if the bytes are not an address.
func unpackAddress(b []byte) (driver.Address, error) {
	labels, key, ok := strings.Cut(string(b), "\x00\x00")
	if !ok {
		return driver.Address{}, fmt.Errorf("address %x: %w", b, ErrCorrupt)
	}
	return driver.Address{Namespace: strings.Split(labels, "\x00"), Key: key}, nil
}

// A value is a [driver.ValueRecord] with its key in the table.
type value struct {
	driver.ValueRecord
	key     int64
	refresh int64 // the time to live of a sliding value in microseconds, otherwise 0
}

func (v *value) rowKey() int64 { return v.key }

var (
	valueColumns = []string{
		"scope", "address", "version", "created_at", "updated_at", "expires_at", "refresh",
		"words", "model", "dimension", "norm", "checksum", "value", "terms", "embedding",
	}
	insertValue  = insertInto("mem_value", valueColumns)
	updateValue  = updateByKey("mem_value", valueColumns)
	selectValue  = `SELECT f.key, f.` + strings.Join(valueColumns[1:], ", f.")
	valueAt      = selectValue + ` FROM mem_value f WHERE f.scope = ? AND f.address = ?`
	valuesByKeys = selectValue + ` FROM json_each(?) j CROSS JOIN mem_value f ON f.key = j.value`
)

// columns returns the column values of a value.
func (v *value) columns(scope int64) []any {
	address, terms, embedding := packAddress(v.Address), packTerms(v.Terms), packVector(v.Embedding)
	return []any{
		scope, address, v.Version, v.CreatedAt.UnixMicro(), v.UpdatedAt.UnixMicro(), micros(v.ExpiresAt), v.refresh,
		len(v.Terms), v.Model, len(v.Embedding), length(v.Embedding), checksum(address, v.Value, terms, embedding), string(v.Value), terms, embedding,
	}
}

// scanValue reads a value. It returns [ErrCorrupt] if the checksum or a size of the row is wrong.
func scanValue(scan func(...any) error) (*value, error) {
	var (
		v                        value
		address, terms, vector   []byte
		created, updated, stored int64
		expires                  sql.NullInt64
		words, dimension         int
		norm                     float64
		text                     string
	)
	err := scan(&v.key, &address, &v.Version, &created, &updated, &expires, &v.refresh, &words, &v.Model, &dimension, &norm, &stored, &text, &terms, &vector)
	if err != nil {
		return nil, err
	}
	if v.Address, err = unpackAddress(address); err != nil {
		return nil, err
	}
	v.Terms, err = unpackTerms(terms)
	if err != nil || len(v.Terms) != words || len(vector) != 4*dimension || stored != checksum(address, []byte(text), terms, vector) {
		return nil, fmt.Errorf("value %.60q: %w", v.Key, ErrCorrupt)
	}
	v.Value, v.Embedding = json.RawMessage(text), unpackVector(vector)
	v.CreatedAt, v.UpdatedAt, v.ExpiresAt = timeOf(created), timeOf(updated), maybeTime(expires)
	return &v, nil
}

// findValue returns the value at an address, even if it has expired, or nil if it does not exist.
func findValue(q *sqlitedb.Session, scope int64, a driver.Address) (v *value, err error) {
	err = q.Each(valueAt, []any{scope, packAddress(a)}, func(scan func(...any) error) (bool, error) {
		v, err = scanValue(scan)
		return false, err
	})
	return v, err
}
