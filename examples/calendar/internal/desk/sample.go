package desk

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/calendar/internal/ics"
)

//go:embed sample.ics
var sampleCalendar string

// sampleDay matches a placeholder for a day in the sample: a number of days from today, or a weekday.
var sampleDay = regexp.MustCompile(`\{(\d+|[a-z]{3})\}`)

// SampleCalendar writes a sample calendar with events in the days after now. It does not change an existing file.
func SampleCalendar(path string, now time.Time) error {
	text := sampleDay.ReplaceAllStringFunc(sampleCalendar, func(word string) string {
		word = strings.Trim(word, "{}")
		n, err := strconv.Atoi(word)
		for err != nil && (n == 0 || !strings.HasPrefix(strings.ToLower(ics.Midnight(now, n).Weekday().String()), word)) {
			n++
		}
		return ics.Midnight(now, n).Format("20060102")
	})
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = out.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
	return errors.Join(err, out.Close())
}

// Sample adds sample mails and tasks.
func (d *Desk) Sample(ctx context.Context) error {
	at := func(hours int) string { return d.now().Add(-time.Duration(hours) * time.Hour).Format(time.DateTime) }
	return d.transact(ctx, func(tx *sql.Tx) error {
		var errs []error
		for _, m := range []Mail{
			{From: "Ann Lee <ann@example.com>", Subject: "Lunch?", Text: "Shall we have lunch next week? Tuesday would suit me.", At: at(3), Unread: true},
			{From: "John Doe <john@example.com>", Subject: "Slides for our meeting", Text: "The slides for Tuesday are in the usual place.", At: at(20), Unread: true},
			{From: "Library <desk@library.example>", Subject: "A book is due", Text: "Your book is due on Friday.", At: at(50)},
		} {
			m.Folder, m.To = "inbox", "me"
			errs = append(errs, insertMail(ctx, tx, m))
		}
		for _, title := range []string{"Return the library book", "Prepare the slides for John"} {
			_, err := tx.ExecContext(ctx, `INSERT INTO tasks (title) VALUES (?)`, title)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}
