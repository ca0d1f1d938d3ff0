package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// inFolder finds the name of a folder of the mail.
var inFolder = regexp.MustCompile(`(?i)\b(sent|archive)d? (` + mails + `)\b`)

// listMail lists the mail of a folder.
func (d *dialog) listMail(c clause) error {
	params := object{"folder": "inbox", "unread": strings.Contains(strings.ToLower(c.text), "unread")}
	if found := inFolder.FindStringSubmatch(c.text); found != nil {
		params["folder"] = strings.ToLower(found[1])
		c.text = inFolder.ReplaceAllString(c.text, "$2")
	}
	d.notSelected(c, fmt.Sprintf("the whole list of the folder %s", params["folder"]), "inbox", "unread", "new", "check", "there")
	return d.show("mail", "list", params)
}

var address = regexp.MustCompile(`[^\s<>]+@[^\s<>]+`)

// sendMail sends a mail. Somebody without an address is looked for in the mail.
func (d *dialog) sendMail(c clause) ([]act, error) {
	to := strings.Trim(c.fields["who"], ",:")
	if !strings.Contains(to, "@") {
		found, err := d.mailsFrom(to)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, blocker(fmt.Sprintf("I know no mail address of %s. Tell me one, and I will write.", to))
		}
		to = address.FindString(found[0].From)
	}
	subject, body := unquote(c.fields["subject"]), unquote(c.fields["body"])
	if body == "" {
		return nil, blocker(fmt.Sprintf("What shall I write to %s? Say it with: saying …", to))
	}
	if words := strings.Fields(body); subject == "" && len(words) > 6 {
		subject = strings.Join(words[:6], " ") + " …"
	} else if subject == "" {
		subject = body
	}
	return d.act("mail", "send", object{"to": []string{to}, "subject": subject, "text": body})
}

// nobody are words for people that name nobody.
var nobody = strings.Fields(`all any anybody anyone both each every everybody everyone he her hers him his i it me mine my myself nobody one
	she somebody someone that their theirs them these they this those us we you your yours yourself`)

// mailsFrom returns the mails from somebody, the newest first. The name is a word of the sender.
func (d *dialog) mailsFrom(name string) ([]item, error) {
	name = strings.ToLower(name)
	if slices.Contains(nobody, name) {
		return nil, blocker(fmt.Sprintf("'%s' is not the name of one person, so I did nothing about it. Say a name.", name))
	}
	answer, err := d.invoke("mail", "search", object{"query": name})
	if err != nil {
		return nil, err
	}
	var found []item
	_ = json.Unmarshal([]byte(answer.Text()), &found) // an error finds nobody
	apart := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return slices.DeleteFunc(found, func(i item) bool {
		return !slices.Contains(strings.FieldsFunc(strings.ToLower(i.From), apart), name)
	}), nil
}

// replyMail answers a mail of the list that was shown last, or the newest mail from somebody.
func (d *dialog) replyMail(c clause) ([]act, error) {
	one, err := d.replied(c)
	if err != nil {
		return nil, err
	}
	to, body := address.FindString(one.From), unquote(c.fields["body"])
	switch {
	case to == "":
		return nil, blocker(fmt.Sprintf("'%s' has no sender to reply to.", one.Subject))
	case body == "":
		return nil, blocker(fmt.Sprintf("What shall I write to %s? Say it with: saying …", to))
	}
	subject := one.Subject
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	return d.act("mail", "send", object{"to": []string{to}, "subject": subject, "text": body})
}

// replied returns the mail that is to be answered.
func (d *dialog) replied(c clause) (item, error) {
	place, who := strings.ToLower(c.fields["place"]), c.fields["who"]
	at := slices.Index(strings.Split(places, "|"), place)
	if who != "" {
		return d.repliedFrom(who, place, at)
	}
	switch {
	case len(d.listed) == 0:
		return item{}, blocker("I do not know which mails are meant. Ask for your mail first, or name the sender.")
	case place == "last":
		at = len(d.listed) - 1
	case at < 0 && len(d.listed) > 1:
		return item{}, blocker(fmt.Sprintf("I do not know which of the %d mails is meant. Say: the first.", len(d.listed)))
	case at < 0:
		at = 0
	case at >= len(d.listed):
		return item{}, blocker(fmt.Sprintf("The list has %d mails, so it has no such one.", len(d.listed)))
	}
	return d.listed[at], nil
}

// repliedFrom returns the mail from somebody that has a place, counted from the newest. Without a place, it is the newest, and
// so is the last one.
func (d *dialog) repliedFrom(who, place string, at int) (item, error) {
	found, err := d.mailsFrom(who)
	switch {
	case err != nil:
		return item{}, err
	case len(found) == 0:
		return item{}, blocker(fmt.Sprintf("I found no mail from %s, so I did nothing about it.", who))
	case at < 0, place == "last":
		at = 0
	case at >= len(found):
		return item{}, blocker(fmt.Sprintf("I found no %s mail from %s, so I did nothing about it.", place, who))
	}
	return found[at], nil
}
