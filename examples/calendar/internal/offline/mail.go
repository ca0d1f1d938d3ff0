package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
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
		one, err := d.mailFrom(to)
		if err != nil {
			return nil, err
		}
		if one.Mail == 0 {
			return nil, blocker(fmt.Sprintf("I know no mail address of %s. Tell me one, and I will write.", to))
		}
		to = address.FindString(one.From)
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

// mailFrom returns the newest mail from somebody, or one without an id.
func (d *dialog) mailFrom(name string) (item, error) {
	answer, err := d.invoke("mail", "search", object{"query": name})
	if err != nil {
		return item{}, err
	}
	var found []item
	_ = json.Unmarshal([]byte(answer.Text()), &found) // an error finds nobody
	i := slices.IndexFunc(found, func(i item) bool { return strings.Contains(strings.ToLower(i.From), strings.ToLower(name)) })
	if i < 0 {
		return item{}, nil
	}
	return found[i], nil
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
	switch {
	case who != "":
		one, err := d.mailFrom(who)
		if err == nil && one.Mail == 0 {
			err = blocker(fmt.Sprintf("I found no mail from %s, so I did nothing about it.", who))
		}
		return one, err
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
