package sqlitememory

import (
	"context"
	"slices"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A corpus is a table that can be searched by words, and by vectors if it has them. Its rows have
// the columns key, words and terms, and a corpus with vectors also has model, dimension, norm and
// embedding.
type corpus struct {
	table string
	// index is the table of the words, and scopes the table of the scopes. Each corpus has its own
	// tables, because Forget deletes the secret of a scope in one corpus, and other corpora still need theirs.
	index, scopes string
	// counts is a condition for the rows that are included in statistics.
	counts string
	// document is the JSON column to which conditions apply, or NULL.
	document string
	vectors  bool
}

var factCorpus = &corpus{table: "mem_fact", index: "mem_word", scopes: "mem_scope", counts: "1", document: "f.metadata", vectors: true}

func (c *corpus) addWords(w *sqlitedb.Session, s *scope, key int64, terms []string) error {
	if len(terms) == 0 {
		return nil
	}
	_, err := w.Exec(`INSERT INTO `+c.index+` (rowid, terms) VALUES (?, ?)`, key, s.tokens(terms))
	return err
}

// removeWords removes the words of a row from the index. The index does not store the terms of a row,
// so the caller must pass them.
func (c *corpus) removeWords(w *sqlitedb.Session, s *scope, key int64, terms []string) error {
	if len(terms) == 0 {
		return nil
	}
	_, err := w.Exec(`INSERT INTO `+c.index+` (`+c.index+`, rowid, terms) VALUES ('delete', ?, ?)`, key, s.tokens(terms))
	return err
}

func (c *corpus) replaceWords(w *sqlitedb.Session, s *scope, key int64, was, terms []string) error {
	if slices.Equal(was, terms) {
		return nil
	}
	if err := c.removeWords(w, s, key, was); err != nil {
		return err
	}
	return c.addWords(w, s, key, terms)
}

// removeRows removes the rows of a scope that meet a condition on f, with their words, and returns
// their number.
func (c *corpus) removeRows(ctx context.Context, w *sqlitedb.Session, s *scope, text string, args ...any) (count int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := c.removeSome(w, s, 256, text, args...)
		if err != nil || n == 0 {
			return count, err
		}
		count += n
	}
}

// removeSome is like removeRows, and removes up to limit rows.
func (c *corpus) removeSome(w *sqlitedb.Session, s *scope, limit int, text string, args ...any) (int, error) {
	type doomed struct {
		key   int64
		terms []string
	}
	var some []doomed
	query := `SELECT f.key, f.terms FROM ` + c.table + ` f WHERE ` + text + ` LIMIT ?`
	err := w.Each(query, append(args[:len(args):len(args)], limit), func(scan func(...any) error) (bool, error) {
		var d doomed
		var packed []byte
		err := scan(&d.key, &packed)
		if err == nil {
			d.terms, err = unpackTerms(packed)
		}
		some = append(some, d)
		return true, err
	})
	if err != nil {
		return 0, err
	}
	for _, d := range some {
		if err := c.removeWords(w, s, d.key, d.terms); err != nil {
			return 0, err
		}
		if _, err := w.Exec(`DELETE FROM `+c.table+` WHERE key = ?`, d.key); err != nil {
			return 0, err
		}
	}
	return len(some), nil
}

// forget removes the scopes of a corpus that Forget(s) covers. It first calls note if it is not
// nil. For each scope it calls remove, which removes the rows and returns their number. It
// overwrites removed data in the file, and removes it from the write-ahead log; see [ErrInUse].
func (d *DB) forget(ctx context.Context, of *corpus, s driver.Scope, note func(w *sqlitedb.Session) error, remove func(w *sqlitedb.Session, s *scope) (int, error)) (count int, err error) {
	err = d.sql.Change(ctx, func(w *sqlitedb.Session) error {
		count = 0
		if note != nil {
			if err := note(w); err != nil {
				return err
			}
		}
		text, args := within(s)
		scopes, err := of.someScopes(w, text, args, -1)
		if err != nil {
			return err
		}
		for i := range scopes {
			n, err := remove(w, &scopes[i])
			if err != nil {
				return err
			}
			count += n
			if err := of.removeScope(w, &scopes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, d.fail("forget", err)
	}
	if err := d.sql.Empty(ctx); err != nil {
		return count, d.fail("forget", err)
	}
	return count, nil
}
