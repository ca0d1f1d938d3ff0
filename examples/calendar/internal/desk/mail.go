package desk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
)

// A Mail is a mail as a model sees it.
type Mail struct {
	ID      int64  `json:"mail_id"`
	Folder  string `json:"folder"`
	From    string `json:"from"`
	To      string `json:"to"`
	Subject string `json:"subject"`
	At      string `json:"at"`
	Unread  bool   `json:"unread,omitempty"`
	Text    string `json:"text,omitempty"`
}

const mailColumns = `id, folder, sender, recipients, subject, at, unread`

func (d *Desk) mails(ctx context.Context, where string, args ...any) ([]Mail, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT `+mailColumns+` FROM mail WHERE `+where+` ORDER BY at DESC, id DESC LIMIT 50`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Mail{}
	for rows.Next() {
		var m Mail
		if err := rows.Scan(&m.ID, &m.Folder, &m.From, &m.To, &m.Subject, &m.At, &m.Unread); err != nil {
			return nil, err
		}
		found = append(found, m.shown())
	}
	return found, rows.Err()
}

type folderInput struct {
	Folder string `json:"folder,omitempty" jsonschema:"inbox, sent or archive; inbox if left out"`
	Unread bool   `json:"unread,omitempty" jsonschema:"only what was not read yet"`
}

func (d *Desk) listMail(ctx context.Context, in folderInput) ([]Mail, error) {
	if in.Folder == "" {
		in.Folder = "inbox"
	}
	return d.mails(ctx, `folder = ? AND (unread OR NOT ?)`, in.Folder, in.Unread)
}

type wordsInput struct {
	Query string `json:"query" jsonschema:"words that all have to be there"`
}

// allWords returns an SQL condition: each word of the query occurs in one of the columns.
func allWords(query string, columns ...string) (where string, args []any) {
	where = "1"
	for word := range strings.FieldsSeq(query) {
		word = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word)
		where += ` AND ` + strings.Join(columns, ` || char(10) || `) + ` LIKE ? ESCAPE '\'`
		args = append(args, "%"+word+"%")
	}
	return where, args
}

func (d *Desk) searchMail(ctx context.Context, in wordsInput) ([]Mail, error) {
	where, args := allWords(in.Query, "sender", "recipients", "subject", "body")
	return d.mails(ctx, where, args...)
}

type mailID struct {
	ID int64 `json:"mail_id"`
}

func (d *Desk) readMail(ctx context.Context, in mailID) (m Mail, err error) {
	err = d.transact(ctx, func(tx *sql.Tx) error {
		if m, err = mailOf(ctx, tx, in.ID); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE mail SET unread = 0 WHERE id = ?`, in.ID)
		return err
	})
	return m, err
}

func mailOf(ctx context.Context, tx *sql.Tx, id int64) (m Mail, err error) {
	row := tx.QueryRowContext(ctx, `SELECT `+mailColumns+`, body FROM mail WHERE id = ?`, id)
	err = row.Scan(&m.ID, &m.Folder, &m.From, &m.To, &m.Subject, &m.At, &m.Unread, &m.Text)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("there is no mail %d", id)
	}
	return m.shown(), err
}

func (m Mail) shown() Mail {
	m.From, m.To, m.Subject, m.Text = shown(m.From), shown(m.To), shown(m.Subject), shown(m.Text)
	return m
}

func (d *Desk) archiveMail(ctx context.Context, in mailID) (string, error) {
	return d.changeMail(ctx, in.ID, "Mail archived", `UPDATE mail SET folder = 'archive' WHERE id = ?`)
}

func (d *Desk) deleteMail(ctx context.Context, in mailID) (string, error) {
	return d.changeMail(ctx, in.ID, "Mail deleted", `DELETE FROM mail WHERE id = ?`)
}

func (d *Desk) changeMail(ctx context.Context, id int64, answer, statement string) (string, error) {
	return d.effect(ctx, func(tx *sql.Tx) (string, error) {
		_, err := mailOf(ctx, tx, id)
		return answer, err
	}, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, id)
		return err
	})
}

type sendInput struct {
	To      []string `json:"to" jsonschema:"mail addresses"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
}

func (d *Desk) sendMail(ctx context.Context, in sendInput) (string, error) {
	if len(in.To) == 0 {
		return "", errors.New("a mail goes to somebody")
	}
	for _, to := range in.To {
		if _, err := mail.ParseAddress(to); err != nil {
			return "", fmt.Errorf("%q is no mail address", to)
		}
	}
	return d.effect(ctx, func(*sql.Tx) (string, error) { return "Mail sent", nil }, func(tx *sql.Tx) error {
		return insertMail(ctx, tx, Mail{Folder: "sent", From: "me", To: strings.Join(in.To, ", "), Subject: in.Subject, Text: in.Text, At: d.now().Format(time.DateTime)})
	})
}

func insertMail(ctx context.Context, tx *sql.Tx, m Mail) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO mail (folder, sender, recipients, subject, body, at, unread) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		m.Folder, m.From, m.To, m.Subject, m.Text, m.At, m.Unread)
	return err
}
